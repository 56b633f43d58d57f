"""What everything has in common that one does with a status: whether one may, what it promises, who is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...storage import blocks, relations, statuses
from ...storage.engine import Connection
from ...storage.notifications import Notification
from ...storage.statuses import Status
from ..account import Account
from ..broadcast import Told
from ..kernel import Origin, Refused
from .statuses import NOT_FOUND

NOT_ALLOWED = Refused(403, "This action is not allowed")


@dataclass(frozen=True, slots=True)
class Kept:
    """What a transaction came to; without promises it changed nothing."""

    told: list[Notification] = field(default_factory=list[Notification])
    promised: list[int] = field(default_factory=list[int])


def invalid(text: str) -> Refused:
    return Refused(422, f"Validation failed: {text}")


async def admit(db: Connection, self: Account, status: Status) -> Refused | None:
    """Until the transaction ends the status is not deleted, and no block comes between the two."""
    if status.account_id != self.id:
        await relations.lock_pair(db, self.id, status.account_id)
        if await blocks.blocked_either_way(db, self.id, status.account_id):
            return NOT_ALLOWED
    return None if await statuses.hold(db, status.id) else NOT_FOUND


async def promise(
    db: Connection, self: Account, status_id: int, told: Sequence[Notification], origin: Origin
) -> list[int]:
    """That the status is shown with its new counts, and that whoever is notified hears of it."""
    outbox = self.backstage.outbox
    effects = [outbox.counts(status_id, self.id, origin)]
    effects += [outbox.notification(n.id, n.account_id, origin) for n in told]
    return await outbox.promise(db, effects)


async def settle(self: Account, status_id: int, kept: Kept) -> None:
    """After the commit, before the answer."""
    if not kept.promised:
        return
    self.backstage.statuses.drop(status_id)
    await notify(self, status_id, kept.told)
    self.backstage.outbox.hand_over(kept.promised)


async def notify(self: Account, status_id: int, told: Sequence[Notification]) -> None:
    """Into the streams of those who are told."""
    backstage = self.backstage
    account = await backstage.accounts.find(self.id) if told else None
    shown = await backstage.statuses.show(status_id) if told else None
    for notification in told:
        if account is not None and shown is not None:
            backstage.broadcast.notified(Told(notification, account, shown), self.origin)


async def original_of(self: Account, id: int) -> int:
    """What is boosted, when this is a boost; for undoing, which needs no permission."""
    status = await self.backstage.statuses.find(id)
    return id if status is None or status.reblog_of_id is None else status.reblog_of_id
