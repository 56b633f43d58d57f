"""Quart, the web framework behind the fast path, with all endpoints.

Few requests need it, so it is imported when the first of them comes (`WebFramework` in `app.py`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

from quart import Response
from quart import request as quart_request
from quart.routing import QuartMap, QuartRule
from quart_trio import QuartTrio
from werkzeug.datastructures import Headers
from werkzeug.exceptions import HTTPException

from .access.context import HttpContext
from .answers.finished import FinishedAnswer
from .asgi import Scope
from .dispatch import refuse_route, respond
from .endpoints import all_endpoints
from .intake.request import LARGEST_BODY, Request, request_of
from .router import Endpoint
from .server.bodies import KEY


def make_quart(context: HttpContext) -> QuartTrio:
    """Return the application of the framework."""
    app = QuartTrio(__name__, static_folder=None)
    # The most that Quart holds of a body without a `Content-Type`, which no endpoint reads.
    app.config["MAX_CONTENT_LENGTH"] = LARGEST_BODY
    # A slow client may take long for a file. `server/connection.py` ends a connection whose client takes nothing.
    app.config["RESPONSE_TIMEOUT"] = None
    app.config["PROPAGATE_EXCEPTIONS"] = False
    app.url_map = url_map()
    app.view_functions = _Views(context)
    app.register_error_handler(HTTPException, _no_route(context))
    return app


@cache
def url_map() -> QuartMap:
    """Return the paths of all endpoints, each named by its place in `all_endpoints`.

    All applications of a process share it: werkzeug takes a tenth of a second to compile the paths.
    """
    rules = [
        QuartRule(endpoint.path, endpoint=str(number), methods=[endpoint.method])
        for number, endpoint in enumerate(all_endpoints())
    ]
    # No redirects to paths with more or fewer slashes. A slash at the end is ignored, as in the reference server: some
    # clients (Mastodon.py) ask for `/api/v1/instance/`.
    return QuartMap(rules, merge_slashes=False, strict_slashes=False)


# `Any` because the framework's type of such functions is a private one of another package.
class _Views(dict[str, Any]):
    """The function of each endpoint, by its name in `url_map`. Made for its first request: most get none here."""

    def __init__(self, context: HttpContext) -> None:
        super().__init__()
        self._context = context

    def __missing__(self, name: str) -> Callable[..., Awaitable[Response]]:
        view = self[name] = _view(self._context, all_endpoints()[int(name)])
        return view


def _view(context: HttpContext, endpoint: Endpoint) -> Callable[..., Awaitable[Response]]:
    async def view(**path: str) -> Response:
        request = _request(context)
        return _response(await respond(context, endpoint, request, path))

    return view


def _no_route(context: HttpContext) -> Callable[[HTTPException], Awaitable[Response]]:
    async def refuse(error: HTTPException) -> Response:
        allowed = ", ".join(sorted(getattr(error, "valid_methods", None) or ())) if error.code == 405 else None
        return _response(await refuse_route(context, _request(context), allowed))

    return refuse


def _request(context: HttpContext) -> Request:
    scope: Scope = quart_request.scope
    return request_of(scope, context.new_request_id, scope.get(KEY))


def _response(answer: FinishedAnswer) -> Response:
    body = answer.body if answer.stream is None else answer.stream()
    return Response(body, answer.status, Headers([("Content-Type", answer.content_type), *answer.headers]))
