"""Boosts: made, undone, listed by status."""

from __future__ import annotations

from typing import Annotated, Literal

from ...actors.commands.reblogs import Reblog, Unreblog
from ...storage import reblogs
from ..access import rates
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..intake.paging import Paged
from ..intake.parameters import Choice, Input
from ..intake.request import Request
from ..router import api
from ..views.listing import people_of_status
from ..views.statuses import answer_with

WRITE = ("write:statuses",)


class Boost(Input):
    visibility: Annotated[Literal["public", "unlisted", "private"] | None, Choice] = None


@api.post("/api/v1/statuses/<id>/reblog", auth="user", scopes=WRITE, rates=(rates.STATUSES,), returns="Status")
async def reblog(context: HttpContext, viewer: Viewer, id: int, boost: Boost) -> Answer:
    """Boost a status. The answer is the boost, with the original inside."""
    return await answer_with(context, viewer, await viewer.ask(Reblog(id, boost.visibility)))


@api.post("/api/v1/statuses/<id>/unreblog", auth="user", scopes=WRITE, rates=(rates.DELETIONS,), returns="Status")
async def unreblog(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    """Undo a boost. The answer is the original."""
    return await answer_with(context, viewer, await viewer.ask(Unreblog(id)))


@api.get("/api/v1/statuses/<id>/reblogged_by", scopes=("read:accounts", "read:statuses"), returns="[Account]")
async def show_reblogged_by(
    context: HttpContext, request: Request, viewer: Viewer | None, id: int, paged: Paged
) -> Answer:
    """The accounts that have boosted a status, without private boosts."""
    return await people_of_status(context, request, viewer, id, paged, reblogs.page)
