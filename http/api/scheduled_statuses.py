"""Scheduled statuses: listed, given another time, cancelled. They are made where statuses are published."""

from __future__ import annotations

from datetime import UTC, datetime

from ...actors.commands.scheduled_statuses import CancelScheduledStatus, MoveScheduledStatus
from ...storage import scheduled_statuses
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import EMPTY, Answer, json
from ..answers.errors import NotFound, Unprocessable
from ..entities.scheduled_status import scheduled_status_fields
from ..intake.input import Input
from ..intake.paging import Paged, links
from ..intake.parameters import MaybeText
from ..intake.request import Request
from ..router import api

READ = ("read:statuses",)
WRITE = ("write:statuses",)
STATUSES = 20  # on a page, when nobody says how many

UNREADABLE = Unprocessable("Record invalid")


class Scheduled(Input):
    scheduled_at: MaybeText = None

    def moment(self) -> datetime | None:
        """The time, in UTC; without an offset it is meant so."""
        if self.scheduled_at is None or not self.scheduled_at.strip():
            return None
        try:
            written = datetime.fromisoformat(self.scheduled_at.strip())
            return written.astimezone(UTC) if written.tzinfo is not None else written.replace(tzinfo=UTC)
        except (ValueError, OverflowError):
            raise UNREADABLE from None


@api.get("/api/v1/scheduled_statuses", auth="user", scopes=READ)
async def show_all(context: HttpContext, request: Request, viewer: Viewer, paged: Paged) -> Answer:
    """What the viewer has scheduled, the last made first."""
    page = paged.page(STATUSES)
    found = await context.database.read(scheduled_statuses.page, viewer.account_id, page)
    base_url = context.settings.base_url
    ids = [one.id for one in found]
    paging = links(base_url + request.path, request.query_texts, ids, full=len(ids) == page.limit)
    return json([scheduled_status_fields(one, base_url) for one in found], headers=paging)


@api.get("/api/v1/scheduled_statuses/<id>", auth="user", scopes=READ)
async def show(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    return await _answer(context, viewer, id)


@api.put("/api/v1/scheduled_statuses/<id>", auth="user", scopes=WRITE)
async def move(context: HttpContext, viewer: Viewer, id: int, scheduled: Scheduled) -> Answer:
    """Another time; nothing else of it can be changed."""
    at = scheduled.moment()
    if at is None:
        return await _answer(context, viewer, id)
    moved = await viewer.ask(MoveScheduledStatus(id, at))
    return json(scheduled_status_fields(moved, context.settings.base_url))


@api.delete("/api/v1/scheduled_statuses/<id>", auth="user", scopes=WRITE)
async def cancel(viewer: Viewer, id: int) -> Answer:
    await viewer.ask(CancelScheduledStatus(id))
    return EMPTY


async def _answer(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    """One of the viewer's own. Other people's are as missing as those that nobody has."""
    found = await context.database.read(scheduled_statuses.find, id, viewer.account_id)
    if found is None:
        raise NotFound
    return json(scheduled_status_fields(found, context.settings.base_url))
