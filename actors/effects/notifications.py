"""Streaming notifications, sending them to devices, and telling that filtered ones were merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...storage import notifications
from ...storage.notifications import Notification
from ..facts.fact import promised_with
from ..facts.notifications import AddedNotifications, MergedNotifications
from ..kernel import Address
from ..promises import Effect, Promise, told_by
from .push import pushes_of
from .registry import ANNOUNCEMENTS, Attempt, EffectContext, carries_out


@dataclass(frozen=True, slots=True)
class StreamNotification(Effect):
    """Show a notification in the streams of `account`."""

    id: int
    account: int


@dataclass(frozen=True, slots=True)
class StreamMerge(Effect):
    """Tell the streams of `account` that filtered notifications are shown now."""

    account: int


def notifications_added(added: Iterable[Notification]) -> list[Promise]:
    """Promise to stream notifications, and to send each to the devices that want it."""
    return [promise for one in added for promise in (_streamed(one), *pushes_of(one))]


def _streamed(notification: Notification) -> Promise:
    effect = StreamNotification(notification.id, notification.account_id)
    return told_by(notification.account_id, effect)


@carries_out("notification", StreamNotification, ANNOUNCEMENTS, shown=True)
async def stream_notification(context: EffectContext, effect: StreamNotification, attempt: Attempt) -> None:
    notification = await context.database.read(notifications.find, effect.account, effect.id)
    if notification is not None:
        await context.facts.apply([AddedNotifications([notification])], attempt.origin)


@promised_with(AddedNotifications)
def _added(facts: Sequence[AddedNotifications], by: Address) -> Iterator[Promise]:
    for fact in facts:
        yield from notifications_added(fact.notifications)


@promised_with(MergedNotifications)
def _merged(facts: Sequence[MergedNotifications], by: Address) -> Iterator[Promise]:
    return (told_by(fact.account_id, StreamMerge(fact.account_id)) for fact in facts)


@carries_out("merge", StreamMerge, ANNOUNCEMENTS, shown=True)
async def stream_merge(context: EffectContext, effect: StreamMerge, attempt: Attempt) -> None:
    await context.facts.apply([MergedNotifications(effect.account)], attempt.origin)
