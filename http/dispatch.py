"""From a request to its answer: limits, token, user, scope, input, function, headers; whatever serves the bytes."""

from __future__ import annotations

from dataclasses import replace

from ..storage.engine.faults import machine_fault
from . import limits
from .access import rates, scopes
from .access.authentication import INVALID, REVOKED, secret_in_head, secret_of, viewer_of
from .access.context import HttpContext
from .access.rates import RateStatus
from .answers import headers
from .answers.answer import Answer
from .answers.errors import MethodNotAllowed, NotFound, TooMany, Unauthorized, error_answer, is_expected
from .intake.request import Request
from .pages import templates
from .router import Endpoint, EndpointCall


async def respond(context: HttpContext, endpoint: Endpoint, request: Request, path: dict[str, str]) -> Answer:
    """The finished answer of an endpoint; every exception has become one."""
    call = EndpointCall(context, request, path)
    try:
        answer = await _admitted(endpoint, call)
    except Exception as error:
        answer = explain(context, request, error, page=endpoint.page)
    return finish(answer, request, call.standing)


async def refuse_route(context: HttpContext, request: Request, allowed: str | None) -> Answer:
    """The answer where no endpoint is: preflights, unknown paths, and known ones with another method."""
    methods = headers.cors_methods(request.path)
    if request.method == "OPTIONS" and methods is not None:
        return _preflight(context, request, methods)
    call = EndpointCall(context, request, {})
    browser = "text/html" in (request.header(b"accept") or "")
    page = browser and not limits.is_api(request.path)
    answer = explain(context, request, await _no_endpoint(call, allowed), page=page)
    return finish(answer, request, call.standing)


def _preflight(context: HttpContext, request: Request, methods: str) -> Answer:
    """The answer to a browser that asks what it may do."""
    try:
        limits.count_for_address(context, request, rates.PREFLIGHTS)
    except TooMany as error:
        return finish(explain(context, request, error, page=False), request, None)
    wanted = request.header(b"access-control-request-headers")
    return finish(Answer(b"", 200, headers.preflight(methods, wanted)), request, None)


async def _no_endpoint(call: EndpointCall, allowed: str | None) -> Exception:
    """Why there is no answer. Such requests count like all others."""
    try:
        await _recognise(call, secret_in_head(call.request))
        limits.count_call(call)
    except Exception as error:
        return error
    return NotFound("Not Found") if allowed is None else MethodNotAllowed(allowed)


def explain(context: HttpContext, request: Request, error: Exception, *, page: bool) -> Answer:
    """An exception as an answer; one that nobody meant goes into the supervision log with its cause.

    What storage refuses, the database tells of by itself.
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
    answer = error_answer(error, request.request_id)
    return templates.error_page(answer) if page else answer


def finish(answer: Answer, request: Request, standing: RateStatus | None) -> Answer:
    """The answer with the headers that every answer on such a path has."""
    extra = (*answer.headers, ("X-Request-Id", request.request_id), *headers.family(request.path, answer.headers))
    if standing is not None:
        extra += standing.headers
    return replace(answer, headers=extra)


async def _admitted(endpoint: Endpoint, call: EndpointCall) -> Answer:
    request = call.request
    needs_token = endpoint.auth != "none" or endpoint.wants_token or endpoint.wants_viewer
    # Where a token changes nothing, one in the header is still looked at, so that its requests count as its own.
    try:
        secret = await secret_of(request, endpoint.body_limit) if needs_token else secret_in_head(request)
        revoked = await _recognise(call, secret)
    finally:
        limits.count_call(call, endpoint.rates)
    if needs_token and call.token is None and (secret is not None or endpoint.auth != "none"):
        raise Unauthorized(REVOKED if revoked else INVALID)
    _admit(endpoint, call)
    await endpoint.read(call)
    for _ in call.input.files() if call.input is not None and endpoint.file_rates else ():
        limits.count_file(call, endpoint.file_rates)
    return await endpoint.answer(call)


async def _recognise(call: EndpointCall, secret: str | None) -> bool:
    """Find out who is calling; whether it is somebody with a token that was revoked."""
    token = None if secret is None else await call.context.tokens.find(call.context.database, secret)
    revoked = token is not None and token.revoked_at is not None
    call.token = None if revoked else token
    return revoked


def _admit(endpoint: Endpoint, call: EndpointCall) -> None:
    if call.token is None:
        return
    if endpoint.auth == "user" or (endpoint.wants_viewer and call.token.account_id is not None):
        call.viewer = viewer_of(call.context, call.token, call.request.request_id, waiting=endpoint.waiting)
    if endpoint.auth != "none" or endpoint.wants_viewer:
        scopes.check(call.token.scopes, endpoint.scopes)
