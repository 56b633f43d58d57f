"""Requests of senders whose mentions were filtered: listed, accepted, dismissed."""

from __future__ import annotations

from collections.abc import Sequence

from ...actors.commands.notification_requests import AcceptNotificationRequests, DismissNotificationRequests
from ...actors.shown.notifications import is_shown
from ...storage import notification_requests
from ...storage.notification_requests import NotificationRequest
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import EMPTY, Answer, array, in_steps, json
from ..answers.errors import NotFound, invalid
from ..entities.account import account_json
from ..entities.notification import notification_request_json
from ..intake.paging import Paged
from ..intake.parameters import Ids, Input
from ..intake.request import Request
from ..router import api
from ..views.listing import row_links
from ..views.statuses import perspective_of, render_all
from .notifications import ON_A_PAGE, READ, WRITE

MOST_AT_ONCE = 100  # requests that are accepted or dismissed together


class Chosen(Input):
    id: Ids = ()

    def check(self) -> None:
        if len(self.id) > MOST_AT_ONCE:
            raise invalid(f"Id is too long (maximum is {MOST_AT_ONCE} items)")


@api.get("/api/v1/notifications/requests", auth="user", scopes=READ, returns="[NotificationRequest]")
async def show_all(context: HttpContext, request: Request, viewer: Viewer, paged: Paged) -> Answer:
    """The open requests, the latest first."""
    page = paged.page(ON_A_PAGE)
    found = await context.database.read(notification_requests.page, viewer.account_id, page)
    rows = [(row.id, row.from_account_id) for row in found]
    return array(await _render(context, viewer, found), row_links(context, request, rows, page.limit, "min_id"))


@api.get("/api/v1/notifications/requests/merged", auth="user", scopes=READ, returns="Merged")
def show_merged() -> Answer:
    """Always true: requests are accepted in one transaction, before the answer."""
    return json({"merged": True})


@api.get("/api/v1/notifications/requests/<id>", auth="user", scopes=READ, returns="NotificationRequest")
async def show(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    found = await context.database.read(notification_requests.find, viewer.account_id, id)
    bodies = await _render(context, viewer, [found]) if found is not None else []
    if not bodies:
        raise NotFound
    return Answer(bodies[0])


@api.post("/api/v1/notifications/requests/accept", auth="user", scopes=WRITE, returns="{}")
async def accept_several(viewer: Viewer, chosen: Chosen) -> Answer:
    """Accept several requests. Unknown ids are ignored, and without ids nothing is done."""
    chosen.check()
    await viewer.ask(AcceptNotificationRequests(chosen.id))
    return EMPTY


@api.post("/api/v1/notifications/requests/dismiss", auth="user", scopes=WRITE, returns="{}")
async def dismiss_several(viewer: Viewer, chosen: Chosen) -> Answer:
    """Dismiss several requests. Unknown ids are ignored, and without ids nothing is done."""
    chosen.check()
    await viewer.ask(DismissNotificationRequests(chosen.id))
    return EMPTY


@api.post("/api/v1/notifications/requests/<id>/accept", auth="user", scopes=WRITE, returns="{}")
async def accept(viewer: Viewer, id: int) -> Answer:
    """Show the filtered notifications of this sender, and accept later notifications."""
    if not await viewer.ask(AcceptNotificationRequests((id,))):
        raise NotFound
    return EMPTY


@api.post("/api/v1/notifications/requests/<id>/dismiss", auth="user", scopes=WRITE, returns="{}")
async def dismiss(viewer: Viewer, id: int) -> Answer:
    """Delete a request and its notifications. The sender stays filtered."""
    if not await viewer.ask(DismissNotificationRequests((id,))):
        raise NotFound
    return EMPTY


async def _render(context: HttpContext, viewer: Viewer, found: Sequence[NotificationRequest]) -> list[bytes]:
    senders = await context.accounts.find_many(row.from_account_id for row in found)
    last = await _last_statuses(context, viewer, found)
    base_url = context.settings.base_url
    return await in_steps(
        notification_request_json(row, account_json(sender, context.rendered, base_url), last.get(row.id))
        for row in found
        if (sender := senders.get(row.from_account_id)) is not None
    )


async def _last_statuses(
    context: HttpContext, viewer: Viewer, found: Sequence[NotificationRequest]
) -> dict[int, bytes]:
    """Return the last statuses that the viewer may see, by request."""
    perspective = await perspective_of(viewer)
    statuses = await context.statuses.show_many(row.last_status_id for row in found if row.last_status_id is not None)
    seen = {
        row.id: shown
        for row in found
        if (shown := statuses.get(row.last_status_id or 0)) is not None and is_shown(row.last_type, shown, perspective)
    }
    return dict(zip(seen, await render_all(context, viewer, list(seen.values())), strict=True))
