"""Quart, the web framework: it answers requests for pages, unknown paths and other methods.

Quart has one route for all paths; the table of paths (`router.py`) finds the endpoint. Few requests need Quart, so the
first of them imports it (`WebFramework` in `app.py`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

from quart import Response
from quart import request as quart_request
from quart.routing import QuartMap, QuartRule
from quart_trio import QuartTrio
from werkzeug.datastructures import Headers
from werkzeug.routing import BaseConverter

from .access.context import HttpContext
from .answers.answer import FinishedAnswer
from .asgi import Application, Scope
from .dispatch import refuse_route, respond
from .intake.request import BODY_KEY, LARGEST_BODY, Request, request_of
from .router import all_paths

EVERYTHING = "everything"  # the name of Quart's only route


def make_quart(context: HttpContext) -> QuartTrio:
    """Return the application of the framework."""
    app = QuartTrio(__name__, static_folder=None)
    # The bound of a body without a `Content-Type`, which Quart reads and no endpoint does.
    app.config["MAX_CONTENT_LENGTH"] = LARGEST_BODY
    # A slow client may take long for a file. `server/connection.py` ends a connection whose client takes nothing.
    app.config["RESPONSE_TIMEOUT"] = None
    app.config["PROPAGATE_EXCEPTIONS"] = False
    app.url_map = QuartMap(
        [QuartRule("/<everything:path>", endpoint=EVERYTHING)],
        converters={"everything": _Everything},
        merge_slashes=False,
        strict_slashes=False,
    )
    app.view_functions[EVERYTHING] = _catch_all(context)
    return app


def application_of(framework: QuartTrio) -> Application:
    """Return the framework as an application of ASGI."""
    # Quart has other types for scopes and messages.
    return cast("Application", framework.asgi_app)


class _Everything(BaseConverter):
    """The rest of any path, with slashes and line breaks."""

    regex = "(?s:.*)"
    part_isolating = False


def _catch_all(context: HttpContext) -> Callable[[str], Awaitable[Response]]:
    """Return the only function that Quart knows."""

    async def answer(path: str) -> Response:
        request, paths = _request(context, quart_request.scope), all_paths()
        found = paths.find(request.method, request.path)
        if found is None:
            return _response(await refuse_route(context, request, paths.methods_of(request.path)))
        endpoint, values = found
        return _response(await respond(context, endpoint, request, values))

    return answer


def _request(context: HttpContext, scope: Scope) -> Request:
    return request_of(scope, context.new_request_id, scope.get(BODY_KEY))


def _response(answer: FinishedAnswer) -> Response:
    body = answer.body if answer.stream is None else answer.stream()
    return Response(body, answer.status, Headers([("Content-Type", answer.content_type), *answer.headers]))
