"""The endpoints mounted on Quart. Only this file and `server.py` know which framework serves them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from quart import Response
from quart import request as quart_request
from quart_trio import QuartTrio
from werkzeug.datastructures import Headers
from werkzeug.exceptions import HTTPException

from .access.context import HttpContext
from .answers.answer import Answer
from .api import (
    absent,
    accounts,
    announcements,
    apps,
    blocks,
    bookmarks,
    conversation_mutes,
    conversations,
    custom_emojis,
    discovery,
    edits,
    emails,
    favourites,
    featured_tags,
    files,
    follow_requests,
    grouped_notifications,
    instance,
    lists,
    markers,
    media,
    notifications,
    openapi,
    pins,
    policies,
    polls,
    preferences,
    profile,
    quotes,
    reblogs,
    registration,
    relations,
    scheduled_statuses,
    search,
    statuses,
    streaming,
    tags,
    timelines,
    trends,
)
from .dispatch import refuse_route, respond
from .fast_path import FastPath
from .intake.request import LARGEST_BODY, Request, request_of
from .oauth import authorize, confirmation, metadata, sign_up, token
from .router import Endpoint, Router, api
from .server.bodies import KEY, Bodies
from .server.paths import NormalizedPaths, nameless
from .streaming.front import StreamingFront

# Importing them is what registers their endpoints.
MODULES = (
    *(
        accounts,
        apps,
        bookmarks,
        conversation_mutes,
        discovery,
        openapi,
        registration,
        edits,
        emails,
        favourites,
        featured_tags,
        instance,
        pins,
        polls,
        quotes,
        reblogs,
        scheduled_statuses,
        statuses,
    ),
    *(blocks, follow_requests, profile, relations, search),
    *(streaming, tags, timelines),
    *(announcements, custom_emojis, grouped_notifications, markers, notifications, policies, preferences, absent),
    *(conversations, files, lists, media, trends),
    *(authorize, confirmation, metadata, sign_up, token),
)


def make_app(context: HttpContext, registry: Router = api) -> QuartTrio:
    """Return the ASGI application."""
    app = QuartTrio(__name__, static_folder=None)
    # What Quart may hold of a body that does not say what it is: nobody asks for one.
    app.config["MAX_CONTENT_LENGTH"] = LARGEST_BODY
    # A file may take a slow client long; one that takes nothing at all is the connection's business.
    app.config["RESPONSE_TIMEOUT"] = None
    app.config["PROPAGATE_EXCEPTIONS"] = False
    # No redirects to paths with more or fewer slashes. One at the end means nothing, as in the reference server: some
    # clients (Mastodon.py) ask for `/api/v1/instance/`.
    app.url_map.merge_slashes = False
    app.url_map.strict_slashes = False
    for number, endpoint in enumerate(registry.endpoints):
        _mount(app, context, endpoint, number)
    app.register_error_handler(HTTPException, _no_route(context))
    direct = FastPath(context, registry.endpoints, nameless(app.asgi_app))
    # The way Quart has of wrapping an application.
    app.asgi_app = NormalizedPaths(StreamingFront(context, Bodies(direct)))
    return app


def _mount(app: QuartTrio, context: HttpContext, endpoint: Endpoint, number: int) -> None:
    async def view(**path: str) -> Response:
        request = _request(context)
        return _response(await respond(context, endpoint, request, path))

    app.add_url_rule(
        endpoint.path,
        endpoint=str(number),
        view_func=view,
        methods=[endpoint.method],
        provide_automatic_options=False,
    )


def _no_route(context: HttpContext) -> Callable[[HTTPException], Awaitable[Response]]:
    async def refuse(error: HTTPException) -> Response:
        allowed = ", ".join(sorted(getattr(error, "valid_methods", None) or ())) if error.code == 405 else None
        return _response(await refuse_route(context, _request(context), allowed))

    return refuse


def _request(context: HttpContext) -> Request:
    scope: Any = quart_request.scope
    return request_of(scope, context.secret, scope.get(KEY))


def _response(answer: Answer) -> Response:
    fields: Iterable[Any] = (("Content-Type", answer.content_type), *answer.headers)
    body = answer.body if answer.stream is None else answer.stream()
    return Response(body, answer.status, Headers(list(fields)))
