"""What the API once had and has no more: 404 for everybody, whatever the method, with or without a token."""

from __future__ import annotations

from ..answer import Answer
from ..errors import NotFound
from ..routing import api

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@api.route(*METHODS, path="/api/v1/timelines/direct")
@api.route(*METHODS, path="/api/v1/search")
@api.route(*METHODS, path="/api/v1/notifications/dismiss")
def refuse() -> Answer:
    raise NotFound("Not Found")


@api.route(*METHODS, path="/api/v1/statuses/<id>/card")
def refuse_of_status(id: str) -> Answer:
    raise NotFound("Not Found")
