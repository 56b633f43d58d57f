"""Boosts: made, taken back, listed by status."""

from __future__ import annotations

from typing import Annotated, Literal

from ...actors.commands.reblogs import Reblog, Unreblog
from ...storage import reblogs
from .. import rates
from ..answer import Answer
from ..authentication import Viewer
from ..house import House
from ..listing import PEOPLE, people
from ..paging import Paged
from ..parameters import Choice, Input
from ..request import Request
from ..routing import api
from ..showing import answer_with, find_visible

WRITE = ("write:statuses",)


class Boost(Input):
    visibility: Annotated[Literal["public", "unlisted", "private"] | None, Choice] = None


@api.post("/api/v1/statuses/<id>/reblog", auth="user", scopes=WRITE, rates=(rates.STATUSES,))
async def reblog(house: House, viewer: Viewer, id: int, boost: Boost) -> Answer:
    """The status that boosts, with what it boosts inside."""
    return await answer_with(house, viewer, await viewer.ask(Reblog(id, boost.visibility)))


@api.post("/api/v1/statuses/<id>/unreblog", auth="user", scopes=WRITE, rates=(rates.DELETIONS,))
async def unreblog(house: House, viewer: Viewer, id: int) -> Answer:
    """The original, without the viewer's boost."""
    return await answer_with(house, viewer, await viewer.ask(Unreblog(id)))


@api.get("/api/v1/statuses/<id>/reblogged_by", scopes=("read:accounts", "read:statuses"))
async def show_reblogged_by(house: House, request: Request, viewer: Viewer | None, id: int, paged: Paged) -> Answer:
    """Who has boosted a status openly."""
    shown = await find_visible(house, viewer, id)
    page = paged.page(PEOPLE)
    rows = await house.database.read(
        reblogs.page, (shown.boosted or shown).id,
        max_id=page.max_id, since_id=page.since_id, min_id=page.min_id, limit=page.limit,
    )  # fmt: skip
    return await people(house, request, viewer, rows, page.limit)
