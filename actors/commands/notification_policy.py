"""Changing the notification policy, in the turn of its account."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import notification_policy
from ...storage.notification_policy import PolicyChange
from ..account import AccountActor
from ..kernel import Command, turn


@dataclass(frozen=True, slots=True)
class ChangeNotificationPolicy(Command[None]):
    """Command: change the policy for notifications that come from now on."""

    change: PolicyChange


@turn(AccountActor, ChangeNotificationPolicy)
async def change_policy(account: AccountActor, message: ChangeNotificationPolicy) -> None:
    await account.transact(notification_policy.change, account.id, message.change)
