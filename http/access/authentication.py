"""Authentication: from the token in a request to the viewer that an endpoint sees, and what is closed without one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from ...actors.kernel.message import Address, Message, Origin
from ...actors.kernel.runtime import Runtime
from ...storage.oauth import Token
from ..answers.errors import Forbidden, TooLarge, Unauthorized, Unprocessable
from ..intake.decoding import nest
from ..intake.request import LARGEST_BODY, TOKEN_PARAMETERS, Request
from .context import HttpContext

INVALID = "The access token is invalid"
REVOKED = "The access token was revoked"
USER_REQUIRED = "This method requires an authenticated user"

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
        """Ask the viewer's own account actor, or another one in the viewer's name."""
        return await self._runtime.ask(address or self.address, message, origin=self.origin)


def secret_in_head(request: Request) -> str | None:
    """Return the token of the Authorization header; None without one. The body is not read."""
    header = request.header(b"authorization")
    if header is None:
        return None
    scheme, _, secret = header.partition(" ")
    return secret.strip() or None if scheme.lower() == "bearer" else None


async def secret_of(request: Request, body_limit: int) -> str | None:
    """Return the token of a request: from the header, else the query, else the body.

    At most LARGEST_BODY of the body is read for it, also where files are allowed: an upload needs a token first.
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
    """Return the token that was sent as a parameter, under either of its names."""
    for name in TOKEN_PARAMETERS:
        value = parameters.get(name)
        if isinstance(value, str) and value:
            return value
    return None


def note_visit(context: HttpContext, request: Request, account_id: int) -> None:
    """Note that a user uses the account now, from the address of a request."""
    context.visits.note(account_id, request.address(context.settings.trusted_proxies), context.clock.now())


def viewer_of(
    context: HttpContext, token: Token, origin: Origin, *, waiting: bool = False, moved: bool = False
) -> Viewer:
    """Return the user of a token. Raises 422 if the token has no user, and 403 if the user may not act now.

    With `waiting`, users may act who are not confirmed or approved yet, and with `moved` those whose account has moved.
    """
    if token.account_id is None:
        raise Unprocessable(USER_REQUIRED)
    check_state(token, waiting=waiting, moved=moved)
    return Viewer(context.runtime, token, token.account_id, origin)


def check_state(token: Token, *, waiting: bool = False, moved: bool = False) -> None:
    """Raise Forbidden, with the reason, if the user may not act with the account now."""
    if token.confirmed_at is None and not waiting:
        raise Forbidden("Your login is missing a confirmed e-mail address")
    if token.approved_at is None and not waiting:
        raise Forbidden("Your login is currently pending approval")
    if token.disabled_at or token.suspended_at or token.deleted_at or (token.moved_to_id and not moved):
        raise Forbidden("Your login is currently disabled")


def check_preview(context: HttpContext, viewer: Viewer | None) -> None:
    """Raise 401 for anonymous people where there are no previews."""
    if viewer is None and not context.settings.shows_previews:
        raise Unauthorized(USER_REQUIRED)


# The paths that limited federation closes to people who are not signed in: all that it shows of its users. Its
# description stays open, and everything that is needed to sign up and to sign in.
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
