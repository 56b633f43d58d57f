"""Paths that clients ask for and this server does not serve: 404 for everybody, whatever the method, with or without a
token. The routes are declared because another one would fit: a word in the place of an id is never taken for an id."""

from __future__ import annotations

from ..answers.answer import Answer
from ..answers.errors import NotFound
from ..router import api

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


# Removed from the API.
@api.route(*METHODS, path="/api/v1/timelines/direct")
@api.route(*METHODS, path="/api/v1/search")
@api.route(*METHODS, path="/api/v1/notifications/dismiss")
# Not built here. Whoever builds one of them takes it out.
@api.route(*METHODS, path="/api/v1/notifications/policy")
@api.route(*METHODS, path="/api/v2/notifications/policy")
@api.route(*METHODS, path="/api/v1/notifications/requests")
@api.route(*METHODS, path="/api/v1/notifications/requests/dismiss")
def refuse() -> Answer:
    raise NotFound("Not Found")


@api.route(*METHODS, path="/api/v1/statuses/<id>/card")
def refuse_of_status(id: str) -> Answer:
    raise NotFound("Not Found")
