"""The parts that exchange requests with other servers. Each process has an instance of each."""

from __future__ import annotations

from collections.abc import Mapping

from ...storage import accounts
from ...storage.engine.database import Database
from ...storage.federation import remote_accounts
from ..activitypub.keys import MakeKey, SigningKeys, make_key
from ..activitypub.names import LocalNames
from ..activitypub.signatures import SignatureScheme, sign
from ..context import ActorContext
from ..kernel import Record, Runtime
from ..outgoing.client import OutgoingClient
from ..own_addresses import OwnAddressReader
from .fetching import DocumentFetcher
from .key_directory import KeyDirectory
from .resolver import Resolver


class Federation:
    """`keys` sign for this server's actors, `fetcher` fetches documents, `directory` finds the signer of a request.

    `resolver` finds and stores the accounts of other servers, `own_addresses` reads addresses of this server.
    """

    def __init__(
        self, context: ActorContext, runtime: Runtime, outgoing: OutgoingClient, record: Record,
        make_key: MakeKey = make_key,
    ) -> None:  # fmt: skip
        database, clock, blocks = context.database, context.clock, context.blocks
        self._database, self._clock = database, clock
        self.names = LocalNames(context.base_url)
        self.own_addresses = OwnAddressReader(database, self.names)
        self.keys = SigningKeys(database, self.names, make_key)
        self.fetcher = DocumentFetcher(
            outgoing, database, clock, self.names, self._sign, lambda: blocks.domains, context.quotas
        )  # fmt: skip
        self.directory = KeyDirectory(database, clock, self.fetcher.fetch, context.quotas)
        self.resolver = Resolver(context, runtime, self.fetcher, record)

    async def check_inbox(self, inbox: str, domain: str) -> None:
        """Refresh in the background the account whose inbox is gone. Shared inboxes belong to no account."""
        account = await self._database.read(remote_accounts.with_inbox, domain, inbox)
        if account is not None:
            self.resolver.check_later(account)

    async def _sign(self, url: str, scheme: SignatureScheme) -> Mapping[str, str]:
        """Return the headers of a GET that the server's own actor signs."""
        return sign(await self.keys.of_server(), "GET", url, None, self._clock.now(), scheme)


class Refresher:
    """Fetches stored accounts again. Each process has an instance."""

    def __init__(self, database: Database, resolver: Resolver) -> None:
        self._database = database
        self._resolver = resolver

    async def refresh(self, account_id: int) -> None:
        """Fetch an account again. Raise DocumentUnavailable if its server gives no answer now."""
        account = await self._database.read(accounts.find, account_id)
        if account is not None and not account.local and account.deleted_at is None:
            await self._resolver.refresh(account)
