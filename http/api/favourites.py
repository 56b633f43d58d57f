"""Favourites: added, removed, listed by account and by status."""

from __future__ import annotations

from ...actors.commands.favourites import Favourite, Unfavourite
from ...storage import favourites
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..intake.paging import Paged
from ..intake.request import Request
from ..router import api
from ..views.listing import people_of_status, statuses_of
from ..views.statuses import answer_with

WRITE = ("write:favourites",)


@api.post("/api/v1/statuses/<id>/favourite", auth="user", scopes=WRITE, returns="Status")
async def favourite(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Favourite(id))
    return await answer_with(context, viewer, id)


@api.post("/api/v1/statuses/<id>/unfavourite", auth="user", scopes=WRITE, returns="Status")
async def unfavourite(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Unfavourite(id))
    return await answer_with(context, viewer, id)


@api.get("/api/v1/favourites", auth="user", scopes=("read:favourites",), returns="[Status]")
async def show_favourites(context: HttpContext, request: Request, viewer: Viewer, paged: Paged) -> Answer:
    """The viewer's favourites, the latest first."""
    return await statuses_of(context, request, viewer, paged, favourites.page)


@api.get("/api/v1/statuses/<id>/favourited_by", scopes=("read:accounts", "read:statuses"), returns="[Account]")
async def show_favourited_by(
    context: HttpContext, request: Request, viewer: Viewer | None, id: int, paged: Paged
) -> Answer:
    """The accounts that have favourited a status."""
    return await people_of_status(context, request, viewer, id, paged, favourites.page_of_status)
