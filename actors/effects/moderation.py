"""Erasing an account that stays suspended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ...storage import outbox
from ...storage.engine.database import Connection
from ..broadcast.broadcast import account_address
from ..kernel import SystemCommand
from ..promises import Effect, Promise
from .registry import MAIN_QUEUE, Attempt, EffectContext, executes

# The time in which a suspension can be undone. Then the account is erased.
SUSPENDED_FOR = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class EraseSuspended(Effect):
    """Delete an account that was suspended at the time `since`, unless this suspension was undone."""

    account: int
    since: str  # ISO 8601, equal to the time in the account's row


@dataclass(frozen=True, slots=True)
class DeleteSuspended(SystemCommand[None]):
    """To an account: delete it, if it is still suspended since this time."""

    since: str


def suspension_ends(account_id: int, since: datetime) -> Promise:
    """Return the promise to delete an account that stays suspended."""
    effect = EraseSuspended(account_id, since.isoformat())
    return Promise(effect, _partition(account_id), due_at=since + SUSPENDED_FOR, account=account_id)


async def forget_end(db: Connection, account_id: int) -> None:
    """Delete the promise to delete an account, because its suspension was undone."""
    await outbox.forget(db, _partition(account_id))


def _partition(account_id: int) -> str:
    return f"suspension/{account_id}"


@executes("suspension", EraseSuspended, MAIN_QUEUE)
async def erase_suspended(context: EffectContext, effect: EraseSuspended, attempt: Attempt) -> None:
    await context.runtime.ask(account_address(effect.account), DeleteSuspended(effect.since), origin=attempt.origin)
