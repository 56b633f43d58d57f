"""Streaming notifications."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import notifications
from ...storage.notifications import Notification
from ..notifications import ShownNotification
from .registry import ANNOUNCEMENTS, Attempt, Effect, EffectContext, Promise, carries_out, told_by


@dataclass(frozen=True, slots=True)
class StreamNotification(Effect):
    """Show a notification in the streams of `account`."""

    id: int
    account: int


def notification_added(notification: Notification) -> Promise:
    """Promise to stream a notification."""
    effect = StreamNotification(notification.id, notification.account_id)
    return told_by(notification.account_id, effect)


@carries_out("notification", StreamNotification, ANNOUNCEMENTS)
async def stream_notification(context: EffectContext, effect: StreamNotification, attempt: Attempt) -> None:
    notification = await context.database.read(notifications.find, effect.account, effect.id)
    if notification is None:
        return
    sender = await context.accounts.find(notification.from_account_id)
    shown = await context.statuses.show(notification.status_id) if notification.status_id else None
    if sender is not None and (shown is not None or notification.status_id is None):
        context.broadcast.notified(ShownNotification(notification, sender, shown), attempt.origin)
