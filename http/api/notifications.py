"""The viewer's notifications."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from ...actors.commands.notifications import ClearNotifications, DismissNotification
from ...actors.notifications import ShownNotification
from ...storage import notifications
from ...storage.notifications import Notification
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import EMPTY, Answer, array, json
from ..answers.errors import NotFound
from ..entities.notification import notification_json
from ..intake.ids import AccountId
from ..intake.input import Input
from ..intake.paging import Paged, clamp, links
from ..intake.parameters import Count, Texts
from ..intake.request import Request
from ..router import api
from ..views.statuses import flags_of, perspective_of

READ = ("read:notifications",)
WRITE = ("write:notifications",)
ON_A_PAGE = 40
COUNTED, MOST_COUNTED = 100, 1000


class Conditions(TypedDict):
    """The conditions of a query for notifications."""

    types: Sequence[str] | None
    exclude_types: Sequence[str]
    from_account_id: int | None


class Sieve(Input):
    """Which notifications a request asks for. Unknown names of types match nothing."""

    types: Texts = ()
    exclude_types: Texts = ()
    account_id: AccountId = None

    def conditions(self) -> Conditions:
        types = [type for type in self.types if type]
        return {
            "types": types or None,
            "exclude_types": self.exclude_types,
            "from_account_id": self.account_id,
        }


class NotificationQuery(Paged, Sieve):
    pass


class Counted(Sieve):
    limit: Count = None


@api.get("/api/v1/notifications", auth="user", scopes=READ)
async def show_all(context: HttpContext, request: Request, viewer: Viewer, wanted: NotificationQuery) -> Answer:
    """A page of notifications with links to both sides. Hidden notifications count for the cursors too."""
    page = wanted.page(ON_A_PAGE)
    found = await context.database.read(notifications.page, viewer.account_id, page, **wanted.conditions())
    bodies = await _render(context, viewer, found)
    ids = [notification.id for notification in found]
    return array(bodies, links(context.settings.base_url + request.path, request.query_texts, ids))


@api.get("/api/v1/notifications/unread_count", auth="user", scopes=READ)
async def count_unread(context: HttpContext, viewer: Viewer, wanted: Counted) -> Answer:
    """The number of notifications after the read marker."""
    limit = clamp(wanted.limit, COUNTED, MOST_COUNTED)
    count = await context.database.read(notifications.unread, viewer.account_id, **wanted.conditions(), limit=limit)
    return json({"count": count})


@api.get("/api/v1/notifications/<id>", auth="user", scopes=READ)
async def show(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    found = await context.database.read(notifications.find, viewer.account_id, id)
    bodies = await _render(context, viewer, [found]) if found is not None else []
    if not bodies:
        raise NotFound
    return Answer(bodies[0])


@api.post("/api/v1/notifications/clear", auth="user", scopes=WRITE)
async def clear(viewer: Viewer) -> Answer:
    await viewer.ask(ClearNotifications())
    return EMPTY


@api.post("/api/v1/notifications/<id>/dismiss", auth="user", scopes=WRITE)
async def dismiss(viewer: Viewer, id: int) -> Answer:
    await viewer.ask(DismissNotification(id))
    return EMPTY


async def _render(context: HttpContext, viewer: Viewer, found: Sequence[Notification]) -> list[bytes]:
    visible = await _visible(context, viewer, found)
    flags = await flags_of(viewer, [one.status for one in visible if one.status is not None])
    base_url = context.settings.base_url
    return [notification_json(one, context.rendered, base_url, flags) for one in visible]


async def _visible(context: HttpContext, viewer: Viewer, found: Sequence[Notification]) -> list[ShownNotification]:
    """Return notifications with their accounts and statuses, without those that the viewer may not see any more."""
    senders = await context.accounts.find_many(one.from_account_id for one in found)
    statuses = await context.statuses.show_many(one.status_id for one in found if one.status_id is not None)
    perspective = await perspective_of(viewer)
    visible: list[ShownNotification] = []
    for one in found:
        sender, shown = senders.get(one.from_account_id), statuses.get(one.status_id or 0)
        if sender is None or (one.status_id is not None and shown is None):
            continue
        visible.append(ShownNotification(one, sender, shown))
    return [one for one in visible if one.is_for(perspective)]
