"""Reminding an account of what it has to do later, or has begun and could not end before a crash.

Each reminder is the message of a turn that may run twice, and that finds out from the rows what is left to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from ...storage import outbox
from ...storage.engine.database import Connection
from ...storage.engine.json_values import JsonObject
from ..broadcast.broadcast import account_address
from ..kernel import SystemMessage
from ..kernel.codec import of_row, to_row
from ..promises import Effect, Promise
from .registry import ANNOUNCEMENTS, Attempt, EffectContext, carries_out


@dataclass(frozen=True, slots=True)
class Unlocked(SystemMessage[None]):
    """The account was unlocked: waiting follow requests are accepted."""


@dataclass(frozen=True, slots=True)
class DomainBlocked(SystemMessage[None]):
    """The account blocked a domain, whose people do not follow it any more."""

    domain: str


@dataclass(frozen=True, slots=True)
class MuteEnded(SystemMessage[None]):
    """A mute's time is over, unless it was changed meanwhile."""

    target_id: int


@dataclass(frozen=True, slots=True)
class StatusDue(SystemMessage[None]):
    """The time of a scheduled status has come, unless it was cancelled or got another one meanwhile."""

    id: int
    at: str  # the time it was meant for, ISO 8601


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
    """Promise to remind an account of something."""
    effect, partition = Remind(account_id, message), _partition(account_id, message)
    # One at a time: the account's actor takes one message at a time.
    return Promise(effect, partition, due_at, account=account_id, group=f"reminder/{account_id}")


async def forget_reminder(db: Connection, account_id: int, message: Reminder) -> None:
    """Take back the reminders of the same thing, which otherwise the next one would have to wait for."""
    await outbox.forget(db, _partition(account_id, message))


@carries_out("reminder", Remind, ANNOUNCEMENTS)
async def remind(context: EffectContext, effect: Remind, attempt: Attempt) -> None:
    """Raise unless the account did what it was reminded of."""
    await context.runtime.ask(account_address(effect.account), effect.reminder, origin=attempt.origin)


def _partition(account_id: int, message: Reminder) -> str:
    """A partition for each thing that an account is reminded of: nothing else waits for it."""
    match message:
        case Unlocked():
            return f"unlocked/{account_id}"
        case DomainBlocked():
            return f"domains/{account_id}"
        case MuteEnded(target_id):
            return f"mute/{account_id}/{target_id}"
        case StatusDue(id):
            return f"scheduled/{id}"
