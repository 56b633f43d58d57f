"""Access tokens: found by their hash, remembered for as long as nobody says they changed.

Those of users who may not come in yet are not remembered: whatever lets them in, from wherever, holds at once.
"""

from __future__ import annotations

from cachetools import LRUCache

from ...storage import oauth
from ...storage.engine.database import Database
from ...storage.oauth import Token
from ...storage.secrets import hash_of

# A token record is some 600 bytes: the cache stays under 10 MB.
REMEMBERED = 16_384


class Tokens:
    """The newest tokens seen. Unknown ones are not remembered: guessing must not push out the real ones."""

    def __init__(self) -> None:
        self._found: LRUCache[bytes, Token] = LRUCache(REMEMBERED)
        self._forgotten = 0
        self.used: set[int] = set()  # ids of applications' own tokens, for the sweep of those that nobody uses

    async def find(self, database: Database, secret: str) -> Token | None:
        """The record of a token, revoked ones too; None when there never was such a token."""
        token_hash = hash_of(secret)
        token = self._found.get(token_hash) or await self._read(database, token_hash)
        if token is not None and token.account_id is None:
            self.used.add(token.id)
        return token

    async def _read(self, database: Database, token_hash: bytes) -> Token | None:
        before = self._forgotten
        token = await database.read(oauth.find_token, token_hash)
        # A revocation that came in while the row was on its way may be newer than the row.
        if token is not None and before == self._forgotten and not _waits(token):
            self._found[token_hash] = token
        return token

    def forget(self, token_hash: bytes) -> None:
        self._forgotten += 1
        self._found.pop(token_hash, None)

    def clear(self) -> None:
        """After the line on which changes are told was down."""
        self._forgotten += 1
        self._found.clear()


def _waits(token: Token) -> bool:
    return token.account_id is not None and (token.confirmed_at is None or token.approved_at is None)
