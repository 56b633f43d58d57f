"""Streaming notifications."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import notifications
from ...storage.notifications import Notification
from ..facts import AddedNotifications
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
    if notification is not None:
        await context.facts.apply([AddedNotifications([notification])], attempt.origin)
