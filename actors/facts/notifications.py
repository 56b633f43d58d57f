"""Facts about notifications."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...storage import notifications
from ...storage.notifications import Notification
from ..broadcast.events import Keyed, NotificationShown, NotificationsMerged
from ..kernel import Address, Message, Origin
from ..kernel.feed import key_of
from ..promises import Promise
from ..push.promises import pushes_of
from ..rules.visibility import Perspective
from ..shown.notifications import show_notifications
from .fact import Fact, Facts, StoredFact, stored_as


@dataclass(frozen=True, slots=True)
class Notified(Message[None]):
    """To a home: a notification for the account's streams."""

    event: NotificationShown


@dataclass(frozen=True, slots=True)
class Merged(Message[None]):
    """To a home: formerly filtered notifications of the account are shown now."""


@stored_as("notification", {"id": "id", "account": "account_id"}, streamed=True)
@dataclass(frozen=True, slots=True)
class AddedNotification(StoredFact):
    """A new notification of an account. A turn publishes it with its row."""

    id: int
    account_id: int
    row: Notification | None = None

    @classmethod
    def of(cls, row: Notification) -> AddedNotification:
        return cls(row.id, row.account_id, row)

    @property
    def newest(self) -> int:
        return self.id

    async def notify_actors(self, facts: Facts, origin: Origin) -> None:
        """Notify the account's home, if it is awake, unless the sender or the status was deleted."""
        if self.row is None or not facts.broadcast.is_home_awake(self.account_id):
            return
        for shown in await show_notifications(facts.database, facts.accounts, facts.statuses, [self.row]):
            event = facts.broadcast.with_position(NotificationShown(shown))
            facts.broadcast.to_home(self.account_id, Notified(event), origin)

    def before_relay(self) -> AddedNotification:
        return AddedNotification(self.id, self.account_id)

    def promises(self) -> Iterator[Promise]:
        """Yield the promises to stream the notification, and to send it to the devices that want it."""
        yield self.promised_by(self.account_id)
        if self.row is not None:
            yield from pushes_of(self.row)

    @classmethod
    def promised(cls, facts: Sequence[AddedNotification], by: Address) -> Iterator[Promise]:
        return (promise for fact in facts for promise in fact.promises())

    async def read_again(self, facts: Facts, origin: Origin) -> Sequence[Fact]:
        return [AddedNotification.of(row) for row in await self._find(facts)]

    async def own_events(self, facts: Facts, viewer: Perspective) -> list[Keyed]:
        rows = await self._find(facts) if self.account_id == viewer.account_id else []
        found = await show_notifications(facts.database, facts.accounts, facts.statuses, rows)
        return [(key_of(self.id), NotificationShown(shown)) for shown in found if shown.is_for(viewer)]

    async def _find(self, facts: Facts) -> list[Notification]:
        row = await facts.database.read(notifications.find, self.account_id, self.id)
        return [] if row is None else [row]


@stored_as("merge", {"account": "account_id"}, streamed=True)
@dataclass(frozen=True, slots=True)
class MergedNotifications(StoredFact):
    """Formerly filtered notifications of an account are shown now."""

    account_id: int

    def notify_actors(self, facts: Facts, origin: Origin) -> None:
        facts.broadcast.to_home(self.account_id, Merged(), origin)

    async def read_again(self, facts: Facts, origin: Origin) -> Sequence[Fact]:
        return [self]

    async def own_events(self, facts: Facts, viewer: Perspective) -> list[Keyed]:
        return [("", NotificationsMerged())] if self.account_id == viewer.account_id else []


@dataclass(frozen=True, slots=True)
class ChangedOwnRows(Fact):
    """Notifications or conversations of an account that the account itself has changed or removed."""

    account_id: int
