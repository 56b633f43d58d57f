"""What the outbox reminds an account of: what it has to do later, or has begun and could not end before a crash.

Each is the message of a turn that may run twice, and that finds out from the rows what is left to do.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .kernel import Message


@dataclass(frozen=True, slots=True)
class Unlocked(Message[None]):
    """The account was unlocked: whoever waited for its word may follow."""


@dataclass(frozen=True, slots=True)
class DomainBlocked(Message[None]):
    """The account blocked a domain, whose people do not follow it any more."""

    domain: str


@dataclass(frozen=True, slots=True)
class MuteEnded(Message[None]):
    """A mute's time is over, unless it was changed meanwhile."""

    target_id: int


@dataclass(frozen=True, slots=True)
class StatusDue(Message[None]):
    """The time of a scheduled status has come, unless it was cancelled or got another one meanwhile."""

    id: int
    at: str  # the time it was meant for, ISO 8601


Reminder = Unlocked | DomainBlocked | MuteEnded | StatusDue
REMINDERS: dict[str, type[Reminder]] = {kind.__name__: kind for kind in (Unlocked, DomainBlocked, MuteEnded, StatusDue)}


def payload_of(account_id: int, reminder: Reminder) -> dict[str, Any]:
    """A reminder as an outbox row keeps it."""
    return {"account": account_id, "of": type(reminder).__name__, "with": asdict(reminder)}


def reminder_of(payload: dict[str, Any]) -> Reminder:
    """The reminder of an outbox row."""
    return REMINDERS[payload["of"]](**payload["with"])
