"""Favourites: set, taken back, listed by who has them and by status."""

from __future__ import annotations

from ...actors.commands.favourites import Favourite, Unfavourite
from ...storage import favourites
from ..answer import Answer
from ..authentication import Viewer
from ..house import House
from ..listing import PEOPLE, people, statuses_of
from ..paging import Paged
from ..request import Request
from ..routing import api
from ..showing import answer_with, find_visible

WRITE = ("write:favourites",)


@api.post("/api/v1/statuses/<id>/favourite", auth="user", scopes=WRITE)
async def favourite(house: House, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Favourite(id))
    return await answer_with(house, viewer, id)


@api.post("/api/v1/statuses/<id>/unfavourite", auth="user", scopes=WRITE)
async def unfavourite(house: House, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Unfavourite(id))
    return await answer_with(house, viewer, id)


@api.get("/api/v1/favourites", auth="user", scopes=("read:favourites",))
async def show_favourites(house: House, request: Request, viewer: Viewer, paged: Paged) -> Answer:
    """What the viewer has favourited, the latest favourite first."""
    return await statuses_of(house, request, viewer, paged, favourites.page)


@api.get("/api/v1/statuses/<id>/favourited_by", scopes=("read:accounts", "read:statuses"))
async def show_favourited_by(house: House, request: Request, viewer: Viewer | None, id: int, paged: Paged) -> Answer:
    """Who has favourited a status."""
    shown = await find_visible(house, viewer, id)
    page = paged.page(PEOPLE)
    rows = await house.database.read(
        favourites.page_of_status, (shown.boosted or shown).id,
        max_id=page.max_id, since_id=page.since_id, min_id=page.min_id, limit=page.limit,
    )  # fmt: skip
    return await people(house, request, viewer, rows, page.limit)
