"""Scheduled statuses: listed, moved to another time, cancelled. `statuses.py` makes them."""

from __future__ import annotations

from datetime import datetime

from ...actors.commands.scheduled_statuses import CancelScheduledStatus, MoveScheduledStatus
from ...actors.rules.instants import printed_instant
from ...storage import scheduled_statuses
from ..access.authentication import Viewer
from ..access.context import HttpContext, find_row
from ..answers.answer import EMPTY, Answer, json
from ..answers.errors import Unprocessable
from ..entities.status_version import scheduled_status_fields
from ..intake.paging import Paged, links
from ..intake.parameters import Input, MaybeText, as_time
from ..intake.request import Request
from ..router import api

READ = ("read:statuses",)
WRITE = ("write:statuses",)
STATUSES = 20  # on a page, unless the request has a limit

UNREADABLE = Unprocessable("Record invalid")


class Scheduled(Input):
    scheduled_at: MaybeText = None

    def moment(self) -> datetime | None:
        """Return the time in UTC. A time without an offset is in UTC."""
        if self.scheduled_at is None or not self.scheduled_at.strip():
            return None
        moment = printed_instant(as_time(self.scheduled_at))
        if moment is None:
            raise UNREADABLE
        return moment


@api.get("/api/v1/scheduled_statuses", auth="user", scopes=READ, returns="[ScheduledStatus]")
async def show_all(context: HttpContext, request: Request, viewer: Viewer, paged: Paged) -> Answer:
    """The viewer's scheduled statuses, the latest first."""
    page = paged.page(STATUSES)
    found = await context.database.read(scheduled_statuses.page, viewer.account_id, page)
    base_url = context.settings.base_url
    ids = [scheduled.id for scheduled in found]
    paging = links(base_url + request.path, request.query_texts, ids, full=len(ids) == page.limit)
    return json([scheduled_status_fields(scheduled, base_url) for scheduled in found], headers=paging)


@api.get("/api/v1/scheduled_statuses/<id>", auth="user", scopes=READ, returns="ScheduledStatus")
async def show(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    return await _answer(context, viewer, id)


@api.put("/api/v1/scheduled_statuses/<id>", auth="user", scopes=WRITE, returns="ScheduledStatus")
async def move(context: HttpContext, viewer: Viewer, id: int, scheduled: Scheduled) -> Answer:
    """Change the time. The other parts of a scheduled status cannot be changed."""
    at = scheduled.moment()
    if at is None:
        return await _answer(context, viewer, id)
    moved = await viewer.ask(MoveScheduledStatus(id, at))
    return json(scheduled_status_fields(moved, context.settings.base_url))


@api.delete("/api/v1/scheduled_statuses/<id>", auth="user", scopes=WRITE, returns="{}")
async def cancel(viewer: Viewer, id: int) -> Answer:
    await viewer.ask(CancelScheduledStatus(id))
    return EMPTY


async def _answer(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    """Answer with a scheduled status of the viewer. Raises NotFound for those of others, as for missing statuses."""
    found = await find_row(context, scheduled_statuses.find, id, viewer.account_id)
    return json(scheduled_status_fields(found, context.settings.base_url))
