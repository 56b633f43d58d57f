"""The parts that talk with other servers, one of each for a process."""

from __future__ import annotations

from collections.abc import Mapping

from ...storage.engine.database import Database
from ..activitypub.keys import MakeKey, SigningKeys, make_key
from ..activitypub.names import LocalNames
from ..activitypub.signatures import SignatureScheme, sign
from ..kernel import Clock
from ..outgoing.client import OutgoingClient
from ..server_blocks import ServerBlocks
from .fetching import DocumentFetcher
from .key_directory import KeyDirectory


class Federation:
    """`keys` sign for this server's actors, `fetcher` asks other servers, `directory` says who has signed a request."""

    def __init__(
        self, database: Database, clock: Clock, outgoing: OutgoingClient, blocks: ServerBlocks, base_url: str,
        make_key: MakeKey = make_key,
    ) -> None:  # fmt: skip
        self._clock = clock
        self.names = LocalNames(base_url)
        self.keys = SigningKeys(database, self.names, make_key)
        self.fetcher = DocumentFetcher(outgoing, database, clock, self.names, self._sign, lambda: blocks.domains)
        self.directory = KeyDirectory(database, clock, self.fetcher.fetch)

    async def _sign(self, url: str, scheme: SignatureScheme) -> Mapping[str, str]:
        """Return the headers of a GET that the server's own actor signs."""
        return sign(await self.keys.of_server(), "GET", url, None, self._clock.now(), scheme)
