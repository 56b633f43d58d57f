"""Ending polls at their time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import notifications, outbox, polls
from ...storage.engine.database import Connection
from ...storage.notifications import NewNotification
from ..facts.notifications import AddedNotification
from ..facts.statuses import ChangedStatus
from ..kernel import Origin
from ..promises import Effect, Promise
from .registry import MAIN_QUEUE, Attempt, EffectContext, executes
from .sending import tallies_final


@dataclass(frozen=True, slots=True)
class ClosePoll(Effect):
    """End a poll whose time is over."""

    id: int


def poll_ends(id: int, author_id: int, expires_at: datetime) -> Promise:
    """Return the promise to end a poll at its time. Its partition is its own, so that no other effect waits for it."""
    return Promise(ClosePoll(id), _partition(id), expires_at, account=author_id)


async def forget_poll(db: Connection, id: int) -> None:
    """Delete the promise to end a poll."""
    await outbox.forget(db, _partition(id))


@executes("poll", ClosePoll, MAIN_QUEUE)
async def close_poll(context: EffectContext, effect: ClosePoll, attempt: Attempt) -> None:
    """Close the poll. No actor caches polls, so this may write outside of turns: the poll's row is locked."""
    with context.facts.publishing():
        status_id = await context.database.transact(_close, context, effect.id, attempt.origin)
        if status_id is not None:
            await context.facts.apply([ChangedStatus(status_id)], attempt.origin)
            context.outbox.wake()


async def _close(db: Connection, context: EffectContext, id: int, origin: Origin) -> int | None:
    now = context.clock.now()
    closed = await polls.close(db, id, now)
    if closed is None:
        return None
    concerned = dict.fromkeys((closed.account_id, *closed.voters))
    new = [NewNotification(context.ids.next(), to, closed.account_id, "poll", closed.status_id) for to in concerned]
    added = await notifications.insert_many(db, new, now)
    tallies = await tallies_final(db, closed.status_id, closed.account_id)
    promises = [promise for row in added for promise in AddedNotification.of(row).promises()]
    await context.outbox.promise(db, [*promises, tallies], origin)
    return closed.status_id


def _partition(id: int) -> str:
    return f"poll/{id}"
