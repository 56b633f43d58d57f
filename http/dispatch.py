"""From a request to its answer: limits, token, user, scope, input, function, headers; whatever serves the bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from . import headers, pages, rates, scopes
from .answer import Answer
from .authentication import INVALID, REVOKED, secret_in_head, secret_of, viewer_of
from .errors import MethodNotAllowed, NotFound, TooMany, Unauthorized, error_answer, is_expected
from .house import House
from .paging import CURSORS as PAGING_PARAMETERS
from .rates import Rule, Standing
from .request import Request
from .routing import Call, Endpoint

API = "/api/"  # every request below it counts


async def respond(house: House, endpoint: Endpoint, request: Request, path: dict[str, str]) -> Answer:
    """The finished answer of an endpoint; every exception has become one."""
    call = Call(house, request, path)
    try:
        answer = await _admitted(endpoint, call)
    except Exception as error:
        answer = explain(house, request, error, page=endpoint.page)
    return finish(answer, request, call.standing)


async def refuse_route(house: House, request: Request, allowed: str | None) -> Answer:
    """The answer where no endpoint is: preflights, unknown paths, and known ones with another method."""
    methods = headers.cors_methods(request.path)
    if request.method == "OPTIONS" and methods is not None:
        wanted = request.header(b"access-control-request-headers")
        return finish(Answer(b"", 200, headers.preflight(methods, wanted)), request, None)
    call = Call(house, request, {})
    browser = "text/html" in (request.header(b"accept") or "")
    page = browser and not request.path.startswith(API)
    answer = explain(house, request, await _no_endpoint(call, allowed), page=page)
    return finish(answer, request, call.standing)


async def _no_endpoint(call: Call, allowed: str | None) -> Exception:
    """Why there is no answer; below `/api/` such requests count, too."""
    if call.request.path.startswith(API):
        try:
            await _recognise(call, secret_in_head(call.request))
            _count(call)
        except Exception as error:
            return error
    return NotFound("Not Found") if allowed is None else MethodNotAllowed(allowed)


def explain(house: House, request: Request, error: Exception, *, page: bool) -> Answer:
    """An exception as an answer; one that nobody meant goes into the supervision log with its cause."""
    if not is_expected(error):
        house.record(
            "request.failed",
            request_id=request.request_id,
            message=f"{request.method} {request.path}",
            error=error,
            decision="500",
        )
    answer = error_answer(error, request.request_id)
    return pages.error_page(answer) if page else answer


def finish(answer: Answer, request: Request, standing: Standing | None) -> Answer:
    """The answer with the headers that every answer on such a path has."""
    extra = (*answer.headers, ("X-Request-Id", request.request_id), *headers.family(request.path, answer.headers))
    if standing is not None:
        extra += standing.headers
    return replace(answer, headers=extra)


async def _admitted(endpoint: Endpoint, call: Call) -> Answer:
    request = call.request
    needs_token = endpoint.auth != "none" or endpoint.wants_token or endpoint.wants_viewer
    # Where a token changes nothing, one in the header is still looked at, so that its requests count as its own.
    counts = request.path.startswith(API) or bool(endpoint.rates)
    try:
        secret = await secret_of(request, endpoint.body_limit) if needs_token else secret_in_head(request)
        revoked = await _recognise(call, secret)
    finally:
        if counts:
            _count(call, endpoint.rates)
    if needs_token and call.token is None and (secret is not None or endpoint.auth != "none"):
        raise Unauthorized(REVOKED if revoked else INVALID)
    _admit(endpoint, call)
    return await endpoint.answer(call)


async def _recognise(call: Call, secret: str | None) -> bool:
    """Find out who is calling; whether it is somebody with a token that was revoked."""
    token = None if secret is None else await call.house.tokens.find(call.house.database, secret)
    revoked = token is not None and token.revoked_at is not None
    call.token = None if revoked else token
    return revoked


def _admit(endpoint: Endpoint, call: Call) -> None:
    if call.token is None:
        return
    if endpoint.auth == "user" or (endpoint.wants_viewer and call.token.account_id is not None):
        call.viewer = viewer_of(call.house, call.token, call.request.request_id, waiting=endpoint.waiting)
    if endpoint.auth != "none" or endpoint.wants_viewer:
        scopes.check(call.token.scopes, endpoint.scopes)


def _count(call: Call, rules: Iterable[Rule] = ()) -> None:
    if not call.house.settings.rate_limits:
        return
    call.standing = call.house.rates.count_all(_charges(rules, call), call.house.clock.now())
    if call.standing is not None and call.standing.exceeded:
        raise TooMany


def _charges(rules: Iterable[Rule], call: Call) -> Iterator[tuple[Rule, str]]:
    account = call.token.account_id if call.token else None
    address = rates.subject_of(call.request.address(call.house.settings.trusted_proxies))
    who = address if account is None else str(account)
    if call.token is None or account is None:
        yield rates.PER_ADDRESS, who
    else:
        yield rates.PER_ACCOUNT, who
        yield rates.PER_TOKEN, str(call.token.id)
    if call.request.query_string and any(name in PAGING_PARAMETERS for name, _ in call.request.query):
        yield rates.PAGING, who
    for rule in rules:
        yield rule, address if rule.per_address else who
