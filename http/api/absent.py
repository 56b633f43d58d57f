"""Paths that clients request and this server does not serve: 404 for every method, with and without a token.

They are declared because other endpoints would match, and take the last word of the path for an id.
"""

from __future__ import annotations

from ..answers.answer import Answer
from ..answers.errors import NotFound
from ..router import api

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


# Removed from the API.
@api.route(*METHODS, path="/api/v1/timelines/direct")
@api.route(*METHODS, path="/api/v1/search")
@api.route(*METHODS, path="/api/v1/notifications/dismiss")
def refuse() -> Answer:
    raise NotFound("Not Found")


@api.route(*METHODS, path="/api/v1/statuses/<id>/card")
def refuse_of_status(id: str) -> Answer:
    raise NotFound("Not Found")


@api.route(*METHODS, path="/users/<name>.atom")
def refuse_of_account(name: str) -> Answer:
    raise NotFound("Not Found")
