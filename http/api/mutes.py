"""Muting and unmuting accounts, and the accounts that the viewer mutes."""

from __future__ import annotations

from ...actors.commands.mutes import Mute, Unmute
from ...actors.rules.limits import MUTE_SECONDS
from ...storage import mutes
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, array, in_steps
from ..entities.account import muted_account_json
from ..intake.paging import Paged
from ..intake.parameters import Count, Flag, Input
from ..intake.request import Request
from ..router import api
from ..views.accounts import PEOPLE
from ..views.listing import row_links
from .relations import relationship

WRITE = ("write:mutes", "follow")


class MuteTerms(Input):
    notifications: Flag = True
    duration: Count = 0


@api.get("/api/v1/mutes", auth="user", scopes=("read:mutes", "follow"), returns="[MutedAccount]")
async def show_mutes(context: HttpContext, request: Request, viewer: Viewer, paged: Paged) -> Answer:
    """The accounts that the viewer mutes, the latest first, each with the end of its mute."""
    page = paged.page(PEOPLE)
    muted = await context.database.read(mutes.page, viewer.account_id, context.clock.now(), page)
    found = await context.accounts.find_many(mute.account_id for mute in muted)
    bodies = await in_steps(
        muted_account_json(found[mute.account_id], mute.expires_at, context.rendered, context.settings.base_url)
        for mute in muted
        if mute.account_id in found
    )
    rows = [(mute.id, mute.account_id) for mute in muted]
    return array(bodies, row_links(context, request, rows, page.limit, "since_id"))


@api.post("/api/v1/accounts/<id>/mute", auth="user", scopes=WRITE, returns="Relationship")
async def mute(context: HttpContext, viewer: Viewer, id: int, terms: MuteTerms) -> Answer:
    """Mute an account, or change the options of a mute."""
    duration = min(max(terms.duration or 0, 0), MUTE_SECONDS)
    await viewer.ask(Mute(id, terms.notifications, duration))
    return await relationship(context, viewer, id)


@api.post("/api/v1/accounts/<id>/unmute", auth="user", scopes=WRITE, returns="Relationship")
async def unmute(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Unmute(id))
    return await relationship(context, viewer, id)
