"""Bookmarks: added, removed, and listed for their owner."""

from __future__ import annotations

from ...actors.commands.bookmarks import Bookmark, Unbookmark
from ...storage import bookmarks
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..intake.paging import Paged
from ..intake.request import Request
from ..router import api
from ..views.listing import statuses_of
from ..views.statuses import answer_with

WRITE = ("write:bookmarks",)


@api.post("/api/v1/statuses/<id>/bookmark", auth="user", scopes=WRITE, returns="Status")
async def bookmark(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Bookmark(id))
    return await answer_with(context, viewer, id)


@api.post("/api/v1/statuses/<id>/unbookmark", auth="user", scopes=WRITE, returns="Status")
async def unbookmark(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Unbookmark(id))
    return await answer_with(context, viewer, id)


@api.get("/api/v1/bookmarks", auth="user", scopes=("read:bookmarks",), returns="[Status]")
async def show_bookmarks(context: HttpContext, request: Request, viewer: Viewer, paged: Paged) -> Answer:
    """The viewer's bookmarks, the latest first."""
    return await statuses_of(context, request, viewer, paged, bookmarks.page)
