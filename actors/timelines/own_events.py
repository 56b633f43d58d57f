"""The events of an account's own streams that an effect gives rise to: notifications, conversations, announcements."""

from __future__ import annotations

from typing import Protocol

from ...storage import announcements, conversations, notifications
from ..context import ActorContext
from ..conversations import shown_conversations
from ..events import (
    AnnouncementGone,
    AnnouncementShown,
    ConversationShown,
    NotificationShown,
    NotificationsMerged,
    StreamedEvent,
)
from ..facts.announcements import ChangedAnnouncement
from ..facts.conversations import ChangedConversation, conversation_key
from ..facts.notifications import AddedNotification, MergedNotifications
from ..kernel.feed import key_of
from ..notifications import show_notifications
from ..promises import Effect
from ..rules.visibility import Perspective
from .missed import Keyed


class Home(Protocol):
    """A home timeline, as far as it is needed here."""

    id: int
    context: ActorContext
    perspective: Perspective


async def own_events(home: Home, effect: Effect) -> list[Keyed]:
    """Return the events of an account's own streams that an effect gives rise to."""
    match effect:
        case AddedNotification(id, account_id) if account_id == home.id:
            return await _notified(home, id)
        case ChangedConversation(id, account_id) if account_id == home.id:
            return await _changed_conversation(home, id)
        case MergedNotifications(account_id) if account_id == home.id:
            return [("", NotificationsMerged())]
        case ChangedAnnouncement(id):
            return [("", await _announced(home, id))]
        case _:
            return []


async def _notified(home: Home, id: int) -> list[Keyed]:
    context = home.context
    found = await context.database.read(notifications.find, home.id, id)
    shown = await show_notifications(context.database, context.accounts, context.statuses, [found] if found else [])
    return [(key_of(id), NotificationShown(told)) for told in shown if told.is_for(home.perspective)]


async def _changed_conversation(home: Home, id: int) -> list[Keyed]:
    context = home.context
    found = await context.database.read(conversations.find, home.id, id)
    shown = await shown_conversations([found] if found else [], context.accounts, context.statuses)
    return [(key_of(conversation_key(told.last.id)), ConversationShown(told)) for told in shown if told.last]


async def _announced(home: Home, id: int) -> StreamedEvent:
    found = await home.context.database.read(announcements.find_shown, id)
    is_shown = found is not None and found.announcement.is_shown(home.context.clock.now())
    return AnnouncementShown(found) if found is not None and is_shown else AnnouncementGone(id)
