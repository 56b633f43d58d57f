"""From a request to an open session: who is there, and whether they may listen."""

from __future__ import annotations

from collections.abc import Callable

from ...actors.kernel import Origin
from ...storage.oauth import Token
from ..authentication import check_state, secret_among, secret_in_head
from ..errors import Unauthorized
from ..house import House
from ..limits import count_for_account
from ..parameters import nest
from ..rates import STREAMS
from ..request import Request
from .channels import Wanted
from .session import Frame, Session

MISSING = "Missing access token"
INVALID = "Invalid access token"


def secret_of(request: Request, protocol: str | None = None) -> str | None:
    """The token of a handshake: header, then query, then what stands in the place of a WebSocket's protocol."""
    return secret_in_head(request) or secret_among(nest(request.query)) or protocol


async def identify(house: House, secret: str | None) -> Token | None:
    """The live token of a user; None for anonymous people where they are let in."""
    if secret is None:
        if not house.settings.public_preview:
            raise Unauthorized(MISSING)
        return None
    token = await house.tokens.find(house.database, secret)
    if token is None or token.revoked_at is not None or token.account_id is None:
        raise Unauthorized(INVALID)
    check_state(token)
    return token


async def admit(
    house: House,
    request: Request,
    frame: Frame,
    protocol: str | None = None,
    want: Callable[[Token | None], Wanted | None] = lambda _: None,
) -> Session:
    """A session that whoever asked for it ends by `dismiss`.

    `want` names the stream that is opened with the session, or raises why there is none: then no session is opened.
    Every handshake counts, refused ones for their address. Raises TooMany.
    """
    secret = token = None
    try:
        secret = secret_of(request, protocol)
        token = await identify(house, secret)
        wanted = want(token)
    finally:
        count_for_account(house, request, token, STREAMS)
    session = Session(
        house.runtime, token, Origin(request.request_id), frame, house.settings.stream_queue, house.record
    )
    house.streams.add(session)
    try:
        # Once more, now that a revocation would find the session: none can slip through in between.
        await identify(house, secret)
        await session.watch_account()
        if wanted is not None:
            await session.subscribe(wanted)
    except BaseException:
        dismiss(house, session)
        raise
    return session


def dismiss(house: House, session: Session) -> None:
    """The connection is over: nothing keeps it."""
    house.streams.remove(session)
    session.leave()
