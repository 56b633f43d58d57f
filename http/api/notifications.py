"""The viewer's notifications."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from ...actors.account import ViewerPart
from ...actors.commands.notifications import ClearNotifications, DismissNotification, NewestNotifications
from ...actors.shown.notifications import ShownNotification, show_notifications
from ...storage import markers, notifications
from ...storage.notifications import Notification
from ...storage.upkeep.paging import Page
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import EMPTY, Answer, array, in_steps, json
from ..answers.errors import NotFound
from ..entities.notification import notification_json
from ..intake.paging import FilteredPage, Paged, clamp, links, read_page
from ..intake.parameters import AccountId, Count, Flag, Input, Texts
from ..intake.request import Request
from ..router import api
from ..views.statuses import part_of, without_hidden

READ = ("read:notifications",)
WRITE = ("write:notifications",)
ON_A_PAGE = 40
COUNTED, MOST_COUNTED = 100, 1000


class Conditions(TypedDict):
    """The conditions of a query for notifications."""

    types: Sequence[str] | None
    exclude_types: Sequence[str]
    from_account_id: int | None


class NotificationTypes(Input):
    """The filters of a request. Unknown types match no notification."""

    types: Texts = ()
    exclude_types: Texts = ()
    account_id: AccountId = None

    def wanted_types(self) -> tuple[str, ...] | None:
        return tuple(type for type in self.types if type) or None

    def conditions(self) -> Conditions:
        return {
            "types": self.wanted_types(),
            "exclude_types": self.exclude_types,
            "from_account_id": self.account_id,
        }


class NotificationQuery(Paged, NotificationTypes):
    include_filtered: Flag = False


class Counted(NotificationTypes):
    limit: Count = None


@api.get("/api/v1/notifications", auth="user", scopes=READ, returns="[Notification]")
async def show_all(context: HttpContext, request: Request, viewer: Viewer, wanted: NotificationQuery) -> Answer:
    """A page of notifications, with links to older and newer pages. Hidden notifications count for the cursors too."""

    async def read_part(page: Page) -> FilteredPage[bytes]:
        found = await _page(context, viewer, wanted, page)
        visible, part, hidden = await _seen(context, viewer, found)
        return FilteredPage([row.id for row in found], await _render(context, part, visible), hidden)

    whole = await read_page(wanted.page(ON_A_PAGE), read_part)
    return array(whole.shown, links(context.settings.base_url + request.path, request.query_texts, whole.ids))


async def _page(context: HttpContext, viewer: Viewer, wanted: NotificationQuery, page: Page) -> Sequence[Notification]:
    """Return a page. The account's actor has the newest, unless a sender or filtered notifications are wanted."""
    if page == Page(page.limit) and wanted.account_id is None and not wanted.include_filtered:
        return await viewer.ask(NewestNotifications(page.limit, wanted.wanted_types(), wanted.exclude_types))
    return await context.database.read(
        notifications.page, viewer.account_id, page, **wanted.conditions(), include_filtered=wanted.include_filtered
    )


@api.get("/api/v1/notifications/unread_count", auth="user", scopes=READ, returns="Count")
async def count_unread(context: HttpContext, viewer: Viewer, wanted: Counted) -> Answer:
    """The number of notifications after the read marker."""
    limit = clamp(wanted.limit, COUNTED, MOST_COUNTED)
    if not (await part_of(context, viewer, ())).filters.may_hide("notifications"):
        count = await context.database.read(notifications.unread, viewer.account_id, **wanted.conditions(), limit=limit)
        return json({"count": count})
    # Hidden notifications do not count, because no client could ever mark them as read.
    page = Page(limit, since_id=await last_read(context, viewer))
    found = await context.database.read(notifications.page, viewer.account_id, page, **wanted.conditions())
    _, _, hidden = await _seen(context, viewer, found)
    return json({"count": len(found) - hidden})


async def last_read(context: HttpContext, viewer: Viewer) -> int | None:
    """Return the id of the notification that the viewer has read last."""
    found = await context.database.read(markers.find, viewer.account_id, ["notifications"])
    return found[0].last_read_id if found else None


@api.get("/api/v1/notifications/<id>", auth="user", scopes=READ, returns="Notification")
async def show(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    found = await context.database.read(notifications.find, viewer.account_id, id)
    visible, part, _ = await _seen(context, viewer, [found] if found is not None else [])
    if not visible:
        raise NotFound
    return Answer((await _render(context, part, visible))[0])


@api.post("/api/v1/notifications/clear", auth="user", scopes=WRITE, returns="{}")
async def clear(viewer: Viewer) -> Answer:
    await viewer.ask(ClearNotifications())
    return EMPTY


@api.post("/api/v1/notifications/<id>/dismiss", auth="user", scopes=WRITE, returns="{}")
async def dismiss(viewer: Viewer, id: int) -> Answer:
    await viewer.ask(DismissNotification(id))
    return EMPTY


async def _render(context: HttpContext, part: ViewerPart, visible: Sequence[ShownNotification]) -> list[bytes]:
    base_url = context.settings.base_url
    return await in_steps(notification_json(shown, context.rendered, base_url, part) for shown in visible)


async def _seen(
    context: HttpContext, viewer: Viewer, found: Sequence[Notification]
) -> tuple[list[ShownNotification], ViewerPart, int]:
    """Return the notifications that the viewer sees, the viewer's part, and the number that filters hide."""
    shown = await show_notifications(context.database, context.accounts, context.statuses, found)
    part = await part_of(context, viewer, [row.status for row in shown if row.status is not None])
    visible = [row for row in shown if row.is_for(part.perspective)]
    if not part.filters.may_hide("notifications"):
        return visible, part, 0
    seen = [
        row for row in visible if row.status is None or without_hidden(context, part, [row.status], "notifications")
    ]
    return seen, part, len(visible) - len(seen)
