"""Authentication: from the token in a request to the viewer of an endpoint; and the paths that require a sign-in.

Tokens are cached, and the visits of users are noted in memory, so neither needs a query. A token stays in the cache
until a fact reports its change. Tokens of users who are not confirmed or approved yet are not cached, so that a
confirmation or an approval by any process takes effect at once.

Clients repeat their headers. So a second cache finds the tokens of users by the whole header, without parsing and
hashing.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from datetime import date, datetime
from functools import lru_cache
from typing import TypeVar

from cachetools import LRUCache

from ...actors.kernel.message import Address, Message, Origin
from ...actors.kernel.runtime import Runtime
from ...storage import oauth
from ...storage.engine.database import Database
from ...storage.oauth import Token
from ...storage.secrets import hash_of
from ...storage.visits import Visit
from ..answers.errors import Forbidden, TooLarge, Unauthorized, Unprocessable
from ..intake.decoding import nest
from ..intake.request import LARGEST_BODY, TOKEN_PARAMETERS, Request

INVALID = "The access token is invalid"
REVOKED = "The access token was revoked"
USER_REQUIRED = "This method requires an authenticated user"

# A token record is some 600 bytes: the cache stays under 10 MB.
REMEMBERED = 16_384
# Visits between two sweeps. The bounds protect the table from a user whose address changes with every request, and the
# memory from a crowd.
MOST_OF_AN_ACCOUNT = 20
MOST_ACCOUNTS = 100_000

R = TypeVar("R")


class Viewer:
    """The account that a request acts for."""

    __slots__ = ("_runtime", "account_id", "address", "origin", "token")

    def __init__(self, runtime: Runtime, token: Token, account_id: int, origin: Origin) -> None:
        self.token = token
        self.account_id = account_id
        self.address = Address("account", str(account_id))
        self.origin = origin
        self._runtime = runtime

    async def ask(self, message: Message[R], address: Address | None = None) -> R:
        """Send a message to the viewer's actor, or to another actor in the viewer's name, and return the reply."""
        return await self._runtime.ask(address or self.address, message, origin=self.origin)


def secret_in_head(request: Request) -> str | None:
    """Return the token of the Authorization header; None without a token. The body is not read."""
    header = request.header(b"authorization")
    if header is None:
        return None
    scheme, _, secret = header.partition(" ")
    return secret.strip() or None if scheme.lower() == "bearer" else None


async def secret_of(request: Request, body_limit: int) -> str | None:
    """Return the token of a request: from the header, else the query, else the body.

    At most LARGEST_BODY of the body is read, also where files are allowed: an upload requires a token in its head.
    """
    secret = secret_in_head(request)
    if secret is not None or not (request.query_string or request.has_body):
        return secret
    if request.has_body:
        secret = secret_among(nest(request.query))
    if secret is not None:
        return secret
    try:
        return secret_among(await request.parameters(min(body_limit, LARGEST_BODY)))
    except TooLarge:
        if body_limit > LARGEST_BODY:
            raise Unauthorized(INVALID) from None
        raise


def secret_among(parameters: Mapping[str, object]) -> str | None:
    """Return the token in the parameters, under either of its names."""
    for name in TOKEN_PARAMETERS:
        value = parameters.get(name)
        if isinstance(value, str) and (secret := value.strip()):
            return secret
    return None


def viewer_of(runtime: Runtime, token: Token, origin: Origin, *, waiting: bool = False, moved: bool = False) -> Viewer:
    """Return the user of a token. Raises 422 if the token has no user, and 403 if the user may not act now.

    `waiting` allows users who are not confirmed or approved yet, `moved` allows users whose account has moved.
    """
    if token.account_id is None:
        raise Unprocessable(USER_REQUIRED)
    check_state(token, waiting=waiting, moved=moved)
    return Viewer(runtime, token, token.account_id, origin)


def check_state(token: Token, *, waiting: bool = False, moved: bool = False) -> None:
    """Raise Forbidden, with the reason, if the user may not act with the account now."""
    if token.confirmed_at is None and not waiting:
        raise Forbidden("Your login is missing a confirmed e-mail address")
    if token.approved_at is None and not waiting:
        raise Forbidden("Your login is currently pending approval")
    if is_barred(token) or (token.moved_to_id and not moved):
        raise Forbidden("Your login is currently disabled")


def is_barred(token: Token) -> bool:
    """True if the user of a token may do nothing with the account any more."""
    return bool(token.disabled_at or token.suspended_at or token.deleted_at)


# Paths that require a sign-in with limited federation: everything about users. The description of the server, and all
# that a sign-up and a sign-in need, stay open.
CLOSED = ("/api/", "/@", "/users/", "/tags/", "/web/", "/deck/", "/statuses/")
OPEN = frozenset(
    {
        "/api/openapi.json",
        "/api/v1/instance",
        "/api/v1/instance/extended_description",
        "/api/v1/instance/privacy_policy",
        "/api/v1/instance/rules",
        "/api/v1/instance/terms_of_service",
        "/api/v1/instance/terms_of_service/<date>",
        "/api/v1/streaming/health",
        "/api/v2/instance",
    }
)


def is_closable(method: str, path: str) -> bool:
    """True if the path requires a sign-in when `limited_federation` is on."""
    return method == "GET" and path.startswith(CLOSED) and path not in OPEN


class Tokens:
    """A cache of tokens. Unknown tokens are not cached: guessed tokens must not displace real tokens."""

    def __init__(self) -> None:
        self._found: LRUCache[bytes, Token] = LRUCache(REMEMBERED)
        self._by_header: dict[bytes, Token] = {}
        self._forgotten = 0
        self.used: set[int] = set()  # ids of used tokens of applications; unused tokens of applications are deleted

    async def find(self, database: Database, secret: str) -> Token | None:
        """Return the record of a token, which may be revoked; None if the token is unknown."""
        token_hash = hash_of(secret)
        token = self._found.get(token_hash) or await self._read(database, token_hash)
        if token is not None and token.account_id is None:
            self.used.add(token.id)
        return token

    def of_header(self, header: bytes) -> Token | None:
        """Return the cached token of an Authorization header, which is valid and a user's; None if none is cached."""
        return self._by_header.get(header)

    def remember(self, header: bytes, token: Token) -> None:
        """Cache the Authorization header of a user's valid token, as long as the token itself is cached."""
        if self._found.get(token.token_hash) is token:
            if len(self._by_header) >= REMEMBERED:
                self._by_header.clear()
            self._by_header[header] = token

    async def _read(self, database: Database, token_hash: bytes) -> Token | None:
        before = self._forgotten
        token = await database.read(oauth.find_token, token_hash)
        # A revocation that was reported during the query may be newer than the row.
        if token is not None and before == self._forgotten and not _waits(token):
            self._found[token_hash] = token
        return token

    def forget(self, token_hash: bytes) -> None:
        self._forgotten += 1
        self._found.pop(token_hash, None)
        self._by_header.clear()

    def forget_account(self, account_id: int) -> None:
        """Drop the tokens of an account because its user or its state has changed."""
        self._forgotten += 1
        for token_hash in [key for key, token in self._found.items() if token.account_id == account_id]:
            del self._found[token_hash]
        self._by_header.clear()

    def clear(self) -> None:
        """Drop all tokens, after the connection that reports changes was lost."""
        self._forgotten += 1
        self._found.clear()
        self._by_header.clear()


def _waits(token: Token) -> bool:
    return token.account_id is not None and (token.confirmed_at is None or token.approved_at is None)


class Visits:
    """The addresses of users since the last sweep. A sweep stores them every hour, and a crash loses them."""

    def __init__(self) -> None:
        self._of_accounts: dict[int, dict[tuple[date, str], datetime]] = {}

    def note(self, account_id: int, address: str, now: datetime) -> None:
        """Note that a user acts from an address. An address that is not an IP address is ignored."""
        ip = _plain_address(address)
        if ip is None:
            return
        of_account = self._of_accounts.get(account_id)
        if of_account is None:
            if len(self._of_accounts) >= MOST_ACCOUNTS:
                return
            of_account = self._of_accounts[account_id] = {}
        place = (now.date(), ip)  # in UTC
        if place in of_account or len(of_account) < MOST_OF_AN_ACCOUNT:
            of_account[place] = now

    def take(self) -> list[Visit]:
        """Return all visits and forget them."""
        taken, self._of_accounts = self._of_accounts, {}
        return [Visit(id, *place, used_at) for id, places in taken.items() for place, used_at in places.items()]


@lru_cache(maxsize=4096)
def _plain_address(address: str) -> str | None:
    """Return an IP address in its shortest form; a mapped IPv4 address as IPv4. None if it is not an IP address."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)
