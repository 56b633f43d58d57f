"""A cache of access tokens, by their hashes. A token stays in it until a change of it is announced.

Tokens of users who are not confirmed or approved yet are not cached, so that a confirmation or an approval by any
process takes effect at once.

Clients send the same header again and again. So the tokens of users are also found by the header itself, which need not
be read and hashed then.
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
    """The tokens used last. Unknown ones are not cached: guessed tokens must not displace real ones."""

    def __init__(self) -> None:
        self._found: LRUCache[bytes, Token] = LRUCache(REMEMBERED)
        self._by_header: dict[bytes, Token] = {}
        self._forgotten = 0
        self.used: set[int] = set()  # ids of applications' own tokens; the unused ones are deleted

    async def find(self, database: Database, secret: str) -> Token | None:
        """Return the record of a token, also of a revoked one; None if there was never such a token."""
        token_hash = hash_of(secret)
        token = self._found.get(token_hash) or await self._read(database, token_hash)
        if token is not None and token.account_id is None:
            self.used.add(token.id)
        return token

    def of_header(self, header: bytes) -> Token | None:
        """Return the valid token of a user whose Authorization header is known."""
        return self._by_header.get(header)

    def remember(self, header: bytes, token: Token) -> None:
        """Keep the header that a valid token of a user came in, as long as the token itself is kept."""
        if self._found.get(token.token_hash) is token:
            if len(self._by_header) >= REMEMBERED:
                self._by_header.clear()
            self._by_header[header] = token

    async def _read(self, database: Database, token_hash: bytes) -> Token | None:
        before = self._forgotten
        token = await database.read(oauth.find_token, token_hash)
        # A revocation that was announced during the query may be newer than the row.
        if token is not None and before == self._forgotten and not _waits(token):
            self._found[token_hash] = token
        return token

    def forget(self, token_hash: bytes) -> None:
        self._forgotten += 1
        self._found.pop(token_hash, None)
        self._by_header.clear()

    def forget_account(self, account_id: int) -> None:
        """Drop the tokens of an account whose user, or whose state, has changed."""
        self._forgotten += 1
        for token_hash in [one for one, token in self._found.items() if token.account_id == account_id]:
            del self._found[token_hash]
        self._by_header.clear()

    def clear(self) -> None:
        """Drop all tokens, after the connection that announces changes was lost."""
        self._forgotten += 1
        self._found.clear()
        self._by_header.clear()


def _waits(token: Token) -> bool:
    return token.account_id is not None and (token.confirmed_at is None or token.approved_at is None)
