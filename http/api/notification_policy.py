"""The viewer's notification policy. Version 1 has booleans: True filters, False accepts."""

from __future__ import annotations

from typing import Annotated

from ...actors.commands.notification_policy import ChangeNotificationPolicy
from ...storage import notification_policy, notification_requests
from ...storage.notification_policy import Action, NotificationPolicy, PolicyChange
from ...storage.notification_requests import Pending
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..entities.notification import notification_policy_fields, v1_notification_policy_fields
from ..intake.parameters import Choice, Input, MaybeFlag
from ..router import api
from .notifications import READ, WRITE

MaybeAction = Annotated[Action | None, Choice]


class PolicyActions(Input):
    for_not_following: MaybeAction = None
    for_not_followers: MaybeAction = None
    for_new_accounts: MaybeAction = None
    for_private_mentions: MaybeAction = None
    for_limited_accounts: MaybeAction = None
    for_bots: MaybeAction = None

    def change(self) -> PolicyChange:
        return PolicyChange(
            self.for_not_following,
            self.for_not_followers,
            self.for_new_accounts,
            self.for_private_mentions,
            self.for_limited_accounts,
            self.for_bots,
        )


class PolicyFlags(Input):
    filter_not_following: MaybeFlag = None
    filter_not_followers: MaybeFlag = None
    filter_new_accounts: MaybeFlag = None
    filter_private_mentions: MaybeFlag = None
    filter_bots: MaybeFlag = None

    def change(self) -> PolicyChange:
        return PolicyChange(
            not_following=_action(self.filter_not_following),
            not_followers=_action(self.filter_not_followers),
            new_accounts=_action(self.filter_new_accounts),
            private_mentions=_action(self.filter_private_mentions),
            bots=_action(self.filter_bots),
        )


@api.get("/api/v2/notifications/policy", auth="user", scopes=READ, returns="NotificationPolicy")
async def show(context: HttpContext, viewer: Viewer) -> Answer:
    return json(notification_policy_fields(*await _policy(context, viewer)))


@api.put("/api/v2/notifications/policy", auth="user", scopes=WRITE, returns="NotificationPolicy")
async def change(context: HttpContext, viewer: Viewer, wanted: PolicyActions) -> Answer:
    """Change the given parts of the policy. It applies to later notifications."""
    await viewer.ask(ChangeNotificationPolicy(wanted.change()))
    return json(notification_policy_fields(*await _policy(context, viewer)))


@api.get("/api/v1/notifications/policy", auth="user", scopes=READ, returns="V1.NotificationPolicy")
async def show_flags(context: HttpContext, viewer: Viewer) -> Answer:
    return json(v1_notification_policy_fields(*await _policy(context, viewer)))


@api.put("/api/v1/notifications/policy", auth="user", scopes=WRITE, returns="V1.NotificationPolicy")
async def change_flags(context: HttpContext, viewer: Viewer, wanted: PolicyFlags) -> Answer:
    """Change the given parts of the policy."""
    await viewer.ask(ChangeNotificationPolicy(wanted.change()))
    return json(v1_notification_policy_fields(*await _policy(context, viewer)))


async def _policy(context: HttpContext, viewer: Viewer) -> tuple[NotificationPolicy, Pending]:
    policy = await context.database.read(notification_policy.find, viewer.account_id)
    return policy, await context.database.read(notification_requests.pending, viewer.account_id)


def _action(filtered: bool | None) -> Action | None:
    if filtered is None:
        return None
    return "filter" if filtered else "accept"
