"""From a request to its answer: rate limits, token, scopes, input, the endpoint's function, headers.

The fast path, Quart and the simulation call the same functions, so all three give equal answers.

In a cluster, a node that may have missed facts of other nodes answers 503 (`Others.is_complete`). It must not even
check a token, because tokens are cached. Only endpoints that are declared with `without_memory` answer.

- Every request is refused if it begins while the node is incomplete. So an answer shows everything that was
  acknowledged on any node before its request began.
- A read is also refused if the node was incomplete at any moment until its answer was made. A write on another node
  may have been acknowledged meanwhile, and the answer may still show what it hides.
- The answer to any other method is sent in any case, because something may have changed: a client that got a 503 would
  repeat the request, and might post twice. Its body is complete too. The outcome is that of the owner's turn. Other
  records in it, such as the favourited status, are as new as the beginning of the request. So it shows nothing that was
  hidden before; a change that was acknowledged later is concurrent with the request, as on a server that is alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from ..actors.cluster.others import Incomplete
from ..actors.kernel.request_trail import DONE
from ..actors.rules import scopes
from ..actors.rules.roles import may
from ..storage.engine.faults import machine_fault
from .access import rates
from .access.authentication import INVALID, REVOKED, USER_REQUIRED, secret_in_head, secret_of, viewer_of
from .access.context import HttpContext
from .access.rates import NO_ROUTE, RateRule, RateStatus
from .answers.answer import Answer, FinishedAnswer, cors_methods, family, preflight, varied
from .answers.errors import (
    Forbidden,
    Malformed,
    MethodNotAllowed,
    NotFound,
    TooMany,
    Unauthorized,
    Unprocessable,
    error_answer,
    is_expected,
)
from .intake.request import Request
from .oauth.page_frames import error_page
from .router import Endpoint, EndpointCall

READS = ("GET", "HEAD")
# Errors of paths below this have the shape of RFC 6749: an error code and a description.
OAUTH = "/oauth/"


async def respond(context: HttpContext, endpoint: Endpoint, request: Request, path: dict[str, str]) -> FinishedAnswer:
    """Return the finished answer of an endpoint. An exception becomes an answer too."""
    began = perf_counter()
    answering = _respond(context, endpoint, request, path)
    answer = await (answering if context.trace is None else context.trace(endpoint.path, request, answering))
    ended = perf_counter()
    context.counts.of(request.method, endpoint.path).add(answer.status, ended - began)
    note = context.runtime.trail.note_plain if request.method in READS else context.runtime.trail.note
    outcome = DONE if answer.status < 400 else str(answer.status)
    note(("request", began, ended, endpoint.path, request.method, None, request.request_id, (), outcome))
    return answer


async def _respond(context: HttpContext, endpoint: Endpoint, request: Request, path: dict[str, str]) -> FinishedAnswer:
    call, lapses = EndpointCall(context, request, path), context.lapses
    try:
        if not context.others.is_complete and not endpoint.without_memory:
            raise Incomplete
        answer = await _answer(endpoint, call)
        if request.method in READS and not context.was_complete_since(lapses) and not endpoint.without_memory:
            raise Incomplete
        return _finished(endpoint, call, answer)
    except Exception as error:
        if endpoint.page and not endpoint.shows_document(request):
            answer = await error_page(context, request, answer_to_error(context, request, error))
        else:
            answer = answer_to_error(context, request, _in_oauth_shape(request, error))
        return _finished(endpoint, call, answer)


def _finished(endpoint: Endpoint, call: EndpointCall, answer: Answer) -> FinishedAnswer:
    if endpoint.documents == "too":
        answer = varied(answer, "Accept")
    return with_headers(answer, call.request, call.rate_status)


async def refuse_route(context: HttpContext, request: Request, methods: Sequence[str] = ()) -> FinishedAnswer:
    """Return the answer to a request without an endpoint: a preflight, an unknown path, or another method.

    `methods` are the methods of a known path.
    """
    began = perf_counter()
    answering = _without_route(context, request, methods)
    answer = await (answering if context.trace is None else context.trace(NO_ROUTE, request, answering))
    context.counts.of(request.method, NO_ROUTE).add(answer.status, perf_counter() - began)
    return answer


async def _without_route(context: HttpContext, request: Request, methods: Sequence[str]) -> FinishedAnswer:
    of_other_origins = cors_methods(request.path)
    if request.method == "OPTIONS" and of_other_origins is not None:
        return _preflight(context, request, of_other_origins)
    call = EndpointCall(context, request, {})
    browser = "text/html" in (request.header(b"accept") or "")
    page = browser and not rates.is_api(request.path)
    answer = answer_to_error(context, request, await _no_endpoint(call, methods))
    if page:
        answer = await error_page(context, request, answer)
    return with_headers(answer, request, call.rate_status)


def _preflight(context: HttpContext, request: Request, methods: str) -> FinishedAnswer:
    """Return the answer to a browser that asks which methods and headers it may use."""
    try:
        context.limits.count_for_address(request, rates.PREFLIGHTS)
    except TooMany as error:
        return with_headers(answer_to_error(context, request, error), request)
    wanted = request.header(b"access-control-request-headers")
    return with_headers(Answer(b"", 200, preflight(methods, wanted)), request)


async def _no_endpoint(call: EndpointCall, methods: Sequence[str]) -> Exception:
    """Return the error of a request without an endpoint. The request counts for the rate limits."""
    try:
        await _identify(call, secret_in_head(call.request))
        _count(call)
    except Exception as error:
        return error
    return MethodNotAllowed(", ".join(methods)) if methods else NotFound("Not Found")


def answer_to_error(context: HttpContext, request: Request, error: Exception) -> Answer:
    """Return the answer to an exception. Unexpected exceptions are logged with their cause.

    Errors of the database are not logged here: the storage room logs them.
    """
    if is_expected(error):
        pass
    elif (cause := machine_fault(error)) is not None:
        context.record("storage.refused", request_id=request.request_id, error=cause, decision="503")
    else:
        context.record(
            "request.failed",
            request_id=request.request_id,
            message=f"{request.method} {request.path}",
            error=error,
            decision="500",
        )
    return error_answer(error, request.request_id)


def _in_oauth_shape(request: Request, error: Exception) -> Exception:
    """Return the error; below `OAUTH`, an error about the input becomes `invalid_request` (RFC 6749)."""
    if isinstance(error, Malformed | Unprocessable) and request.path.startswith(OAUTH):
        return Malformed("invalid_request", description=error.description or error.text)
    return error


def with_headers(answer: Answer, request: Request, rate_status: RateStatus | None = None) -> FinishedAnswer:
    """Return the answer with the headers that every answer on its path has.

    Raises ValueError for a header with a line break in it.
    """
    shared, id = family(request.path, answer.headers), ("X-Request-Id", request.request_id)
    return FinishedAnswer(answer, shared, id, *(() if rate_status is None else rate_status.headers))


async def _answer(endpoint: Endpoint, call: EndpointCall) -> Answer:
    request = call.request
    closed = endpoint.closable and call.context.settings.limited_federation and not endpoint.shows_document(request)
    needs_token = endpoint.auth != "none" or endpoint.wants_token or endpoint.wants_viewer or closed
    # A token in the header is read even if the endpoint ignores it: the request counts for the account of the token.
    secret, revoked = None, False
    try:
        if not _recognize(call):
            secret = await secret_of(request, endpoint.body_limit) if needs_token else secret_in_head(request)
            revoked = await _identify(call, secret)
    finally:
        _count(call, endpoint.rates)
    if needs_token and call.token is None and (secret is not None or endpoint.auth != "none"):
        raise Unauthorized(REVOKED if revoked else INVALID)
    if closed:
        _require_user(call)
    _authorize(endpoint, call)
    if endpoint.admit is not None:
        await endpoint.admit(call.context, request)
    await endpoint.read(call)
    if endpoint.file_rates:
        _count_files(call, endpoint.file_rates)
    return await endpoint.answer(call)


def _recognize(call: EndpointCall) -> bool:
    """Use the cached token of the Authorization header. Return False if it is not cached."""
    header = call.request.raw_header(b"authorization")
    token = None if header is None else call.context.tokens.of_header(header)
    if token is None or token.account_id is None:
        return False
    call.token = token
    call.context.note_visit(call.request, token.account_id)
    return True


async def _identify(call: EndpointCall, secret: str | None) -> bool:
    """Find the token of a request. Return True if it was revoked."""
    token = None if secret is None else await call.context.tokens.find(call.context.database, secret)
    revoked = token is not None and token.revoked_at is not None
    call.token = None if revoked else token
    if call.token is not None and call.token.account_id is not None:
        call.context.note_visit(call.request, call.token.account_id)
        if (header := call.request.raw_header(b"authorization")) is not None and secret_in_head(call.request) == secret:
            call.context.tokens.remember(header, call.token)
    return revoked


def _require_user(call: EndpointCall) -> None:
    """Check that the request has a user who may read. Called for closed endpoints with limited federation."""
    if call.token is None:
        raise Unauthorized(USER_REQUIRED)
    viewer_of(call.context.runtime, call.token, call.request.origin, moved=True)


def _authorize(endpoint: Endpoint, call: EndpointCall) -> None:
    """Check that the user may act now, and that the token has a scope and the user a role for the endpoint.

    Users whose account has moved may still call endpoints that are open to visitors, as users.
    """
    if call.token is None:
        return
    if endpoint.auth == "user" or (endpoint.wants_viewer and call.token.account_id is not None):
        waiting, moved = endpoint.waiting, endpoint.auth != "user"
        call.viewer = viewer_of(call.context.runtime, call.token, call.request.origin, waiting=waiting, moved=moved)
    checks_scopes = endpoint.auth != "none" or endpoint.wants_viewer
    if checks_scopes and not scopes.granted(call.token.scopes, endpoint.scopes):
        raise Forbidden("This action is outside the authorized scopes")
    if endpoint.permission is not None and not may(call.token.role, endpoint.permission):
        raise Forbidden("This action is not allowed")


def _count(call: EndpointCall, rules: tuple[RateRule, ...] = ()) -> None:
    """Count a request. The answers of the API show its rate status. Raises TooMany."""
    status = call.context.limits.count_request(call.request, call.token, rules)
    if rates.is_api(call.request.path):
        call.rate_status = status
    if status is not None and status.exceeded:
        raise TooMany(() if call.rate_status else status.headers)


def _count_files(call: EndpointCall, rules: tuple[RateRule, ...]) -> None:
    """Count each file of a request. Raises TooMany."""
    if call.input is None or call.viewer is None:
        return
    for _ in call.input.files():
        status = call.context.limits.count_file(call.viewer.account_id, rules)
        call.rate_status = rates.nearest(call.rate_status, status)
        if status is not None and status.exceeded:
            raise TooMany
