"""From a request to an open session: the token and its rights, rate limits, and the answer to the handshake."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter

from ...actors.cluster.others import Incomplete
from ...storage.oauth import Token
from ..access.authentication import check_state, secret_among, secret_in_head
from ..access.context import HttpContext
from ..access.rates import RESUMPTIONS, STREAMS
from ..access.streams import CLIENT_LEFT
from ..answers.answer import FinishedAnswer
from ..answers.errors import TooMany, Unauthorized
from ..dispatch import answer_to_error, with_headers
from ..intake.decoding import nest
from ..intake.request import Request
from .channels import RequestedStream
from .frames import Frames
from .session import NOW, UNKNOWN, StreamSession

# The route in metrics.
ROUTE = "/api/v1/streaming/<stream>"

MISSING = "Missing access token"
INVALID = "Invalid access token"


def secret_of(request: Request, protocol: str | None = None) -> str | None:
    """Return the token of a handshake: from the header, else the query, else the WebSocket's protocol."""
    return secret_in_head(request) or secret_among(nest(request.query)) or protocol


async def identify(context: HttpContext, secret: str | None) -> Token | None:
    """Return the valid token of a user; None for a visitor, if previews are allowed. Raises Unauthorized."""
    if secret is None:
        if not context.settings.shows_previews:
            raise Unauthorized(MISSING)
        return None
    token = await context.tokens.find(context.database, secret)
    if token is None or token.revoked_at is not None or token.account_id is None:
        raise Unauthorized(INVALID)
    check_state(token)
    return token


async def admit(
    context: HttpContext,
    request: Request,
    frames: Frames,
    protocol: str | None = None,
    want: Callable[[Token | None], RequestedStream | None] = lambda _: None,
    since: str = "",
) -> StreamSession:
    """Open a session. The caller ends it with `dismiss`. Raises TooMany.

    `want` returns a stream, which is opened with the session and sends the events missed `since` an id. If it raises
    an error, no session is opened. Every handshake counts; a refused handshake counts for its address.

    Raises Incomplete while this node of a cluster may have missed the revocation of a token.
    """
    if not context.others.is_complete:
        raise Incomplete
    secret = token = None
    try:
        secret = secret_of(request, protocol)
        token = await identify(context, secret)
        if token is not None and token.account_id is not None:
            context.note_visit(request, token.account_id)
        wanted = want(token)
    finally:
        context.limits.count_for_account(request, token, STREAMS)
    session = StreamSession(
        context.runtime, context.viewers, context.withdrawals, context.others, token, request.origin, frames,
        context.settings.stream_queue, context.record, request.address(context.settings.trusted_proxies),
    )  # fmt: skip
    context.streams.add(session)
    try:
        # Again, because a revocation before `add` did not find the session.
        await identify(context, secret)
        await session.watch_account()
        if wanted is not None:
            await session.subscribe(wanted, counted_since(context, session, since))
    except BaseException:
        _remove(context, session)
        raise
    session.counts.opened += 1
    return session


def counted_since(context: HttpContext, session: StreamSession, since: str) -> str:
    """Return the id from which a stream resumes; `UNKNOWN` beyond the rate limit, so that it begins with a gap."""
    if since in ("", NOW):
        return since
    try:
        context.limits.count_for_client(session.address, session.token, RESUMPTIONS)
    except TooMany:
        return UNKNOWN
    return since


def dismiss(context: HttpContext, session: StreamSession) -> None:
    """End a session whose connection is closed."""
    session.counts.ends[CLIENT_LEFT if session.ended is None else session.ended.name.lower()] += 1
    _remove(context, session)


def _remove(context: HttpContext, session: StreamSession) -> None:
    context.streams.remove(session)
    session.close()


@dataclass(frozen=True, slots=True)
class Handshake:
    """The status of the answer to a handshake, and its outcome: a session, or a refusal."""

    status: int
    outcome: StreamSession | FinishedAnswer


async def shake_hands(
    context: HttpContext, request: Request, opening: Awaitable[StreamSession], status: int
) -> StreamSession | FinishedAnswer:
    """Open a session, in a span if requests are traced, and count the request. Errors become refusals.

    `status` is the status of an answer that opens a stream.
    """
    began = perf_counter()
    answering = _answered(context, request, opening, status)
    handshake = await (answering if context.trace is None else context.trace(ROUTE, request, answering))
    # All streams are one route, because some have names in their paths.
    context.counts.of(request.method, ROUTE).add(handshake.status, perf_counter() - began)
    return handshake.outcome


async def _answered(
    context: HttpContext, request: Request, opening: Awaitable[StreamSession], status: int
) -> Handshake:
    try:
        return Handshake(status, await opening)
    except Exception as error:
        answer = with_headers(answer_to_error(context, request, error), request)
        return Handshake(answer.status, answer)
