"""Reminding an account of work for later, and of work that a crash has interrupted.

Each reminder is the message of a turn that may run twice, and that reads the remaining work from the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from ...storage import outbox
from ...storage.engine.database import Connection
from ...storage.engine.json_values import JsonObject
from ..broadcast.broadcast import account_address
from ..kernel import SystemCommand
from ..kernel.codec import of_row, to_row
from ..promises import Effect, Promise
from .registry import MAIN_QUEUE, Attempt, EffectContext, executes


@dataclass(frozen=True, slots=True)
class Unlocked(SystemCommand[None]):
    """The account was unlocked: waiting follow requests are accepted."""


@dataclass(frozen=True, slots=True)
class DomainBlocked(SystemCommand[None]):
    """The account blocked a domain: follows by accounts of the domain end."""

    domain: str


@dataclass(frozen=True, slots=True)
class MuteEnded(SystemCommand[None]):
    """The time of a mute is over, unless the mute was changed meanwhile."""

    target_id: int


@dataclass(frozen=True, slots=True)
class StatusDue(SystemCommand[None]):
    """A scheduled status is due, unless it was cancelled or moved meanwhile."""

    id: int
    at: str  # its scheduled time, ISO 8601


Reminder = Unlocked | DomainBlocked | MuteEnded | StatusDue
REMINDERS: dict[str, type[Reminder]] = {kind.__name__: kind for kind in (Unlocked, DomainBlocked, MuteEnded, StatusDue)}


@dataclass(frozen=True, slots=True)
class Remind(Effect):
    """Send a reminder to the actor of `account`."""

    account: int
    reminder: Reminder

    def as_row(self) -> JsonObject:
        return {"account": self.account, "of": type(self.reminder).__name__, "with": to_row(self.reminder)}

    @classmethod
    def of_row(cls, row: JsonObject) -> Self:
        return cls(row["account"], of_row(REMINDERS[row["of"]], row["with"]))


def reminder(account_id: int, message: Reminder, due_at: datetime | None = None) -> Promise:
    """Return the promise to send a reminder to an account."""
    effect, partition = Remind(account_id, message), _partition(account_id, message)
    # The group has one worker: the account's actor takes one message at a time.
    return Promise(effect, partition, due_at, account=account_id, group=f"reminder/{account_id}")


async def forget_reminder(db: Connection, account_id: int, message: Reminder) -> None:
    """Delete reminders in the partition of this message: a new reminder would have to wait for them."""
    await outbox.forget(db, _partition(account_id, message))


@executes("reminder", Remind, MAIN_QUEUE)
async def remind(context: EffectContext, effect: Remind, attempt: Attempt) -> None:
    """Send the reminder. Raises the error of the turn, so that the reminder is retried."""
    await context.runtime.ask(account_address(effect.account), effect.reminder, origin=attempt.origin)


def _partition(account_id: int, message: Reminder) -> str:
    """Return the partition of a reminder. Each subject has its own, so that no other reminder waits for it."""
    match message:
        case Unlocked():
            return f"unlocked/{account_id}"
        case DomainBlocked():
            return f"domains/{account_id}"
        case MuteEnded(target_id):
            return f"mute/{account_id}/{target_id}"
        case StatusDue(id):
            return f"scheduled/{id}"
