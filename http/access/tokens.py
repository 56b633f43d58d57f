"""Access tokens, which are cached, and the visits of their users, which are noted in memory: neither costs a query.

A token stays in the cache until a change of it is announced. Tokens of users who are not confirmed or approved yet are
not cached, so that a confirmation or an approval by any process takes effect at once.

Clients send the same header again and again. So the tokens of users are also found by the header itself, which need not
be read and hashed then.
"""

from __future__ import annotations

import ipaddress
from datetime import date, datetime
from functools import lru_cache

from cachetools import LRUCache

from ...storage import oauth
from ...storage.engine.database import Database
from ...storage.oauth import Token
from ...storage.secrets import hash_of
from ...storage.visits import Visit

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


# Visits between two sweeps: a user who changes the address with every request fills no table, and a crowd no memory.
MOST_OF_AN_ACCOUNT = 20
MOST_ACCOUNTS = 100_000


class Visits:
    """The addresses that users have used since the last sweep, which stores them every hour (`actors/expiry.py`).

    A crash loses them.
    """

    def __init__(self) -> None:
        self._of_accounts: dict[int, dict[tuple[date, str], datetime]] = {}

    def note(self, account_id: int, address: str, now: datetime) -> None:
        """Note that a user acts from an address. What is no IP address, such as a local socket, is left out."""
        ip = _plain_address(address)
        if ip is None:
            return
        of_account = self._of_accounts.get(account_id)
        if of_account is None:
            if len(self._of_accounts) >= MOST_ACCOUNTS:
                return
            of_account = self._of_accounts[account_id] = {}
        place = (now.date(), ip)  # of a clock that says UTC
        if place in of_account or len(of_account) < MOST_OF_AN_ACCOUNT:
            of_account[place] = now

    def take(self) -> list[Visit]:
        """Return all visits and forget them."""
        taken, self._of_accounts = self._of_accounts, {}
        return [Visit(id, *place, used_at) for id, one in taken.items() for place, used_at in one.items()]


@lru_cache(maxsize=4096)
def _plain_address(address: str) -> str | None:
    """Return an address in its shortest form, one of IPv4 always as such. None if it is none."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)
