"""The events of streams: a class for each kind of event, with the records that it is rendered from.

Actors append events to their feeds. `http/streaming` decides which streams show a class, and renders it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from ...storage.announcements import ShownAnnouncement
from ..kernel import Event
from ..shown.conversations import ShownConversation
from ..shown.notifications import ShownNotification
from ..shown.statuses import ShownStatus


@dataclass(frozen=True, slots=True)
class StatusEvent(Event):
    """The base of events that show a status: streams compare it with the blocks, mutes and filters of their viewer."""

    status: ShownStatus


@dataclass(frozen=True, slots=True)
class StatusAppeared(StatusEvent):
    """A status is new on the timeline."""


@dataclass(frozen=True, slots=True)
class StatusAmended(StatusEvent):
    """An edited status. The `notified` accounts have a notification of a mention in it."""

    notified: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StatusGone(Event):
    """A status was deleted."""

    id: int


@dataclass(frozen=True, slots=True)
class NotificationShown(Event):
    """The account has a new notification."""

    notification: ShownNotification


@dataclass(frozen=True, slots=True)
class NotificationsMerged(Event):
    """Filtered notifications of the account are shown now: its clients read the notifications again."""


@dataclass(frozen=True, slots=True)
class ConversationShown(Event):
    """A conversation of the account has a new last status, or was marked as read or unread."""

    conversation: ShownConversation


@dataclass(frozen=True, slots=True)
class FiltersChanged(Event):
    """The account's filters changed: its clients read them again."""


@dataclass(frozen=True, slots=True)
class AnnouncementShown(Event):
    """A new or changed announcement of the operator."""

    shown: ShownAnnouncement


@dataclass(frozen=True, slots=True)
class AnnouncementGone(Event):
    """An announcement is not shown any more."""

    id: int


@dataclass(frozen=True, slots=True)
class ReactionCounted(Event):
    """The number of accounts that have reacted to an announcement with an emoji has changed."""

    announcement_id: int
    name: str
    count: int


StreamedEvent = (
    StatusAppeared | StatusAmended | StatusGone | NotificationShown | NotificationsMerged | ConversationShown
    | FiltersChanged | AnnouncementShown | AnnouncementGone | ReactionCounted
)  # fmt: skip
EVENTS: tuple[type[StreamedEvent], ...] = get_args(StreamedEvent)

# An event with its key in the feed. An event without a key may be shown twice.
Keyed = tuple[str, StreamedEvent]
