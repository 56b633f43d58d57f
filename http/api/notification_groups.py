"""The viewer's notifications, with similar notifications in groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import orjson

from ...actors.commands.notifications import DismissGroup
from ...actors.shown.reports import find_reports
from ...actors.shown.statuses import ShownStatus, may_see
from ...storage import notification_groups, strikes
from ...storage.accounts import Account
from ...storage.notification_groups import Group
from ...storage.notifications import GROUPED
from ...storage.upkeep.paging import Page
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import EMPTY, Answer, array, in_steps, json
from ..answers.errors import Malformed, NotFound
from ..entities.account import account_json
from ..entities.notification import group_fields, partial_account_fields
from ..entities.report import report_fields, warning_json
from ..intake.paging import FilteredPage, Paged, clamp, links, read_page
from ..intake.parameters import Count, Flag, Text, Texts
from ..intake.request import Request
from ..router import api
from ..views.statuses import part_of, render_all, without_hidden
from .notifications import COUNTED, MOST_COUNTED, ON_A_PAGE, READ, WRITE, NotificationTypes, last_read

Statuses = dict[int, ShownStatus]

FULL, PARTIAL = "full", "partial_avatars"


class Grouping(NotificationTypes):
    grouped_types: Texts = GROUPED

    def wanted(self) -> notification_groups.NotificationFilter:
        return notification_groups.NotificationFilter(**self.conditions(), grouped_types=self.grouped_types)


class GroupedPage(Paged, Grouping):
    expand_accounts: Text = FULL
    include_filtered: Flag = False

    def wanted(self) -> notification_groups.NotificationFilter:
        return replace(super().wanted(), include_filtered=self.include_filtered)

    def check(self) -> None:
        if self.expand_accounts not in (FULL, PARTIAL):
            raise Malformed(
                f"Invalid value for 'expand_accounts': '{self.expand_accounts}', "
                f"allowed values are '{FULL}' and '{PARTIAL}'"
            )


class GroupsCounted(Grouping):
    limit: Count = None


@api.get("/api/v2/notifications", auth="user", scopes=READ, returns="GroupedNotificationsResults")
async def show_all(context: HttpContext, request: Request, viewer: Viewer, wanted: GroupedPage) -> Answer:
    """A page of groups, with links to the pages before and after its notifications."""
    wanted.check()
    statuses: Statuses = {}

    async def read_part(page: Page) -> FilteredPage[Group]:
        groups = await context.database.read(notification_groups.page, viewer.account_id, wanted.wanted(), page)
        seen, shown, hidden = await _seen(context, viewer, groups)
        statuses.update(shown)
        return FilteredPage([id for group in groups if (id := group.page_id) is not None], seen, hidden)

    whole = await read_page(wanted.page(ON_A_PAGE), read_part)
    headers = links(context.settings.base_url + request.path, request.query_texts, whole.ids)
    partial = wanted.expand_accounts == PARTIAL
    return Answer(await _render(context, viewer, whole.shown, statuses, partial=partial), 200, headers)


@api.get("/api/v2/notifications/unread_count", auth="user", scopes=READ, returns="Count")
async def count_unread(context: HttpContext, viewer: Viewer, wanted: GroupsCounted) -> Answer:
    limit = clamp(wanted.limit, COUNTED, MOST_COUNTED)
    if not (await part_of(context, viewer, ())).filters.may_hide("notifications"):
        count = await context.database.read(notification_groups.unread, viewer.account_id, wanted.wanted(), limit)
        return json({"count": count})
    page = Page(limit, since_id=await last_read(context, viewer))
    groups = await context.database.read(notification_groups.page, viewer.account_id, wanted.wanted(), page)
    _, _, hidden = await _seen(context, viewer, groups)
    return json({"count": len(groups) - hidden})


@api.get("/api/v2/notifications/<group_key>", auth="user", scopes=READ, returns="GroupedNotificationsResults")
async def show(context: HttpContext, viewer: Viewer, group_key: str) -> Answer:
    group = await context.database.read(notification_groups.find, viewer.account_id, group_key)
    groups, statuses, _ = await _seen(context, viewer, [group] if group is not None else [])
    if not groups:
        raise NotFound
    return Answer(await _render(context, viewer, groups, statuses, partial=False))


@api.get("/api/v2/notifications/<group_key>/accounts", auth="user", scopes=(*READ, *WRITE), returns="[Account]")
async def show_accounts(context: HttpContext, viewer: Viewer, group_key: str) -> Answer:
    """All accounts in a group, the latest first."""
    ids = await context.database.read(notification_groups.members, viewer.account_id, group_key)
    found = await context.accounts.find_many(ids)
    base_url = context.settings.base_url
    return array(await in_steps(account_json(account, context.rendered, base_url) for account in found.values()))


@api.post("/api/v2/notifications/<group_key>/dismiss", auth="user", scopes=WRITE, returns="{}")
async def dismiss(viewer: Viewer, group_key: str) -> Answer:
    await viewer.ask(DismissGroup(group_key))
    return EMPTY


async def _render(
    context: HttpContext, viewer: Viewer, groups: list[Group], statuses: Statuses, *, partial: bool
) -> bytes:
    """Render groups, and each account and status of the groups once."""
    accounts = await context.accounts.find_many(id for group in groups for id in group.account_ids)
    whole = {group.account_ids[0] for group in groups} if partial else accounts.keys()
    base_url = context.settings.base_url
    parts = {
        b"accounts": await in_steps(
            account_json(account, context.rendered, base_url) for id, account in accounts.items() if id in whole
        ),
        b"statuses": await render_all(context, viewer, list(statuses.values())),
        b"notification_groups": await _render_groups(context, groups, accounts),
    }
    if partial:
        rest = [account for id, account in accounts.items() if id not in whole]
        parts[b"partial_accounts"] = [orjson.dumps(partial_account_fields(account, base_url)) for account in rest]
    return b"{%b}" % b",".join(b'"%b":[%b]' % (name, b",".join(found)) for name, found in parts.items())


async def _render_groups(context: HttpContext, groups: list[Group], accounts: Mapping[int, Account]) -> list[bytes]:
    """Render the groups alone. A group with a strike has a single notification, from the account to itself."""
    ids = [group.strike_id for group in groups if group.strike_id is not None]
    struck = await context.database.read(strikes.find_many, ids) if ids else {}
    reported = await find_reports(
        context.database, context.accounts, [group.report_id for group in groups if group.report_id is not None]
    )
    base_url = context.settings.base_url
    rendered: list[bytes] = []
    for group in groups:
        fields, strike = group_fields(group), struck.get(group.strike_id or 0)
        if strike is not None:
            warning = warning_json(strike, accounts[group.account_ids[0]], context.rendered, base_url)
            fields["moderation_warning"] = orjson.Fragment(warning)
        if (report := reported.get(group.report_id or 0)) is not None:
            fields["report"] = report_fields(report, context.rendered, base_url)
        rendered.append(orjson.dumps(fields))
    return rendered


async def _seen(context: HttpContext, viewer: Viewer, groups: list[Group]) -> tuple[list[Group], Statuses, int]:
    """Return the groups that the viewer sees, their statuses, and the number of groups that the viewer's filters hide.

    Groups whose status the viewer may not see any more are left out. A mention is shown even if its author has blocked
    the viewer since.
    """
    mentions = {group.status_id for group in groups if group.type == "mention"}
    found = await context.statuses.show_many(group.status_id for group in groups if group.status_id is not None)
    part = await part_of(context, viewer, found.values())
    visible = {id: shown for id, shown in found.items() if id in mentions or may_see(shown, part.perspective)}
    unhidden = without_hidden(context, part, visible.values(), "notifications")
    seen = {shown.id: shown for shown in unhidden}
    groups = [group for group in groups if group.status_id is None or group.status_id in visible]
    shown = [group for group in groups if group.status_id is None or group.status_id in seen]
    return shown, seen, len(groups) - len(shown)
