"""Quotes and translations. This server has neither yet, and answers as clients expect."""

from __future__ import annotations

from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, array
from ..answers.errors import NotFound
from ..intake.paging import Paged
from ..router import api
from ..views.statuses import find_visible

READ = ("read:statuses",)


@api.get("/api/v1/statuses/<id>/quotes", auth="user", scopes=READ)
async def show_quotes(context: HttpContext, viewer: Viewer, id: int, paged: Paged) -> Answer:
    """An empty list: statuses cannot be quoted yet."""
    await find_visible(context, viewer, id)
    return array([])


@api.post("/api/v1/statuses/<id>/quotes/<quoting_status_id>/revoke", auth="user", scopes=("write:statuses",))
async def revoke_quote(context: HttpContext, viewer: Viewer, id: int, quoting_status_id: int) -> Answer:
    await find_visible(context, viewer, id)
    raise NotFound


@api.post("/api/v1/statuses/<id>/translate", auth="user", scopes=READ)
async def translate(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    """The answer of the reference server without a translation service."""
    await find_visible(context, viewer, id)
    raise NotFound
