"""The parts that all interactions with a status share: permission, promises and facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...storage import blocks, relations, statuses
from ...storage.engine.database import Connection
from ...storage.notifications import Notification
from ...storage.statuses import Status
from ..account import AccountActor
from ..effects.notifications import notifications_added
from ..effects.registry import Promise
from ..effects.statuses import counts_changed
from ..facts import AddedNotifications, ChangedStatus, Fact
from ..kernel import Origin, Refused
from ..refusals import NOT_ALLOWED, NOT_FOUND


@dataclass(frozen=True, slots=True)
class Interaction:
    """The outcome of a transaction. Without promises it changed nothing."""

    told: list[Notification] = field(default_factory=list[Notification])
    promised: list[int] = field(default_factory=list[int])

    def facts_about(self, status_id: int) -> list[Fact]:
        """Return the facts about a status for others: its counts, and new notifications."""
        return [ChangedStatus(status_id), AddedNotifications(self.told)] if self.promised else []


def invalid(text: str) -> Refused:
    return Refused(422, f"Validation failed: {text}")


async def admit(db: Connection, account: AccountActor, status: Status) -> Refused | None:
    """Check that the account may interact with the status, and lock it.

    Until the transaction ends, the status can't be deleted and no block between the two accounts can be made.
    """
    if status.account_id != account.id:
        await relations.lock_pair(db, account.id, status.account_id)
        if await blocks.blocked_either_way(db, account.id, status.account_id):
            return NOT_ALLOWED
    return None if await statuses.hold(db, status.id) else NOT_FOUND


async def promise(
    db: Connection,
    account: AccountActor,
    status_id: int,
    told: Sequence[Notification],
    origin: Origin,
    sent: Sequence[Promise] = (),
) -> list[int]:
    """Promise that the status is shown with its new counts, that the notifications are streamed, and what is `sent`."""
    promises = [counts_changed(status_id, account.id), *notifications_added(told), *sent]
    return await account.context.outbox.promise(db, promises, origin)


async def original_of(account: AccountActor, id: int) -> int:
    """Return the original if this is a boost. For undoing, which needs no permission."""
    status = await account.context.statuses.find(id)
    return id if status is None or status.reblog_of_id is None else status.reblog_of_id
