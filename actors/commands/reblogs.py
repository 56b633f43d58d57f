"""Boosts, in the turn of the account that boosts. A boost is a status of its own around the one it shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from ...storage import notifications, statuses
from ...storage.engine import Connection
from ...storage.notifications import NewNotification, Notification
from ...storage.statuses import Deleted, Flags, NewStatus, Status
from ..account import Account
from ..kernel import Origin, Refused, turn
from .interacting import NOT_ALLOWED, admit, notify, original_of
from .statuses import NOT_FOUND, bury, choose_visibility, find_original, retract


@dataclass(frozen=True, slots=True)
class Reblog:
    """Command: boost; answered with the id of the boost, the same one when it is repeated."""

    status_id: int
    visibility: str | None = None


@dataclass(frozen=True, slots=True)
class Unreblog:
    """Command: take a boost back, also of what is hidden by now; answered with the id of what was boosted."""

    status_id: int


@dataclass(frozen=True, slots=True)
class Boosted:
    """What the transaction came to: `promised` is empty when the boost was there."""

    id: int
    told: list[Notification] = field(default_factory=list[Notification])
    promised: list[int] = field(default_factory=list[int])


@turn(Account, Reblog)
async def reblog(self: Account, message: Reblog) -> int | Refused:
    original = await find_original(self, message.status_id)
    if original is None:
        return NOT_FOUND
    if not _may_be_boosted(original, self.id):
        return NOT_ALLOWED
    new = await _compose(self, original, message.visibility)
    boosted = await self.transact(_reblog, self, original, new, self.now, self.origin)
    if isinstance(boosted, Refused):
        return boosted
    if boosted.promised:
        await _spread(self, original.id, boosted)
    return boosted.id


def _may_be_boosted(status: Status, by: int) -> bool:
    """What is private only by its author, what is direct by nobody."""
    return status.visibility in ("public", "unlisted") or (status.visibility == "private" and status.account_id == by)


async def _compose(self: Account, original: Status, asked: str | None) -> NewStatus:
    """A boost is never more open than what it shows; `direct` as a default means those nearest."""
    backstage, id = self.backstage, self.backstage.ids.next()
    visibility = "private" if original.visibility == "private" else await choose_visibility(self, asked)
    uri = f"{backstage.base_url}/users/{self.owner.username}/statuses/{id}/activity"
    return NewStatus(
        id, self.id, uri, uri, "private" if visibility == "direct" else visibility,
        language=original.language, sensitive=original.sensitive, reblog_of_id=original.id,
    )  # fmt: skip


async def _reblog(
    db: Connection, self: Account, original: Status, new: NewStatus, now: datetime, origin: Origin
) -> Boosted | Refused:
    if (refusal := await admit(db, self, original)) is not None:
        return refusal
    if (earlier := await statuses.find_reblog(db, self.id, original.id)) is not None:
        return Boosted(earlier)
    await statuses.insert(db, new, now)
    ids, outbox = self.backstage.ids, self.backstage.outbox
    news = [NewNotification(ids.next(), original.account_id, self.id, "reblog", original.id)]
    told = await notifications.insert_many(db, news, now)
    effects = [outbox.status(new.id, self.id, origin), outbox.counts(original.id, self.id, origin)]
    effects += [outbox.notification(n.id, n.account_id, origin) for n in told]
    return Boosted(new.id, told, await outbox.promise(db, effects))


async def _spread(self: Account, original_id: int, boosted: Boosted) -> None:
    """After the commit, before the answer. What is missing then was deleted meanwhile, and whoever did it tells."""
    backstage = self.backstage
    backstage.statuses.drop(original_id)
    backstage.accounts.drop(self.id)
    self.mark(original_id, reblogged=True)
    self.keep_flags(boosted.id, Flags())
    shown = await backstage.statuses.show(boosted.id)
    if shown is not None and not backstage.statuses.is_deleted(boosted.id):
        recipients = [notification.account_id for notification in boosted.told]
        if not await backstage.outbox.finds_room(self.address, boosted.promised, shown, recipients):
            backstage.broadcast.published_to_author(shown, self.origin)
            return
        backstage.broadcast.published(shown, self.origin)
    await notify(self, original_id, boosted.told)
    backstage.outbox.hand_over(boosted.promised)


@turn(Account, Unreblog)
async def unreblog(self: Account, message: Unreblog) -> int:
    original_id = await original_of(self, message.status_id)
    buried = await self.transact(_unreblog, self, original_id, self.now, self.origin)
    if buried is not None:
        retract(self, *buried)
    return original_id


async def _unreblog(
    db: Connection, self: Account, original_id: int, now: datetime, origin: Origin
) -> tuple[Deleted, list[int]] | None:
    boost = await statuses.find_reblog(db, self.id, original_id)
    return None if boost is None else await bury(db, self, boost, now, origin)
