"""Bookmarks: set, taken out, listed for their owner alone."""

from __future__ import annotations

from ...actors.commands.bookmarks import Bookmark, Unbookmark
from ...storage import bookmarks
from ..answer import Answer
from ..authentication import Viewer
from ..house import House
from ..listing import statuses_of
from ..paging import Paged
from ..request import Request
from ..routing import api
from ..showing import answer_with

WRITE = ("write:bookmarks",)


@api.post("/api/v1/statuses/<id>/bookmark", auth="user", scopes=WRITE)
async def bookmark(house: House, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Bookmark(id))
    return await answer_with(house, viewer, id)


@api.post("/api/v1/statuses/<id>/unbookmark", auth="user", scopes=WRITE)
async def unbookmark(house: House, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Unbookmark(id))
    return await answer_with(house, viewer, id)


@api.get("/api/v1/bookmarks", auth="user", scopes=("read:bookmarks",))
async def show_bookmarks(house: House, request: Request, viewer: Viewer, paged: Paged) -> Answer:
    """What the viewer has bookmarked, the latest bookmark first."""
    return await statuses_of(house, request, viewer, paged, bookmarks.page)
