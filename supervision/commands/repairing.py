"""The work of the commands that change the outbox and dead letters in the database (`stuck.py` lists them)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ...actors import effects, repairs
from ...actors.kernel.ids import Ids
from ...actors.staff import act_at_command_line
from ...storage.dead_letters import DeadLetter
from ...storage.engine.database import Connection
from ...storage.outbox_upkeep import ChosenEffects
from .acting import NotDone, allowed
from .rows import Transact

__all__ = ["effects"]  # which registers what happens when an effect is given up

AT_ONCE = 500  # effects that one transaction drops


async def retry_effects(db: Connection, chosen: ChosenEffects, ids: Ids, now: datetime) -> int:
    return allowed(await repairs.retry_effects(db, act_at_command_line(ids, now), chosen))


def drop_effects(run: Transact, chosen: ChosenEffects, *, dry_run: bool) -> int:
    """Drop effects, in batches. A rehearsal takes all back, so it needs one transaction."""
    if dry_run:
        return run(_drop_some, chosen, 2**31, dry_run=True)
    dropped = 0
    while some := run(_drop_some, chosen, AT_ONCE):
        dropped += some
    return dropped


async def _drop_some(db: Connection, chosen: ChosenEffects, most: int, ids: Ids, now: datetime) -> int:
    try:
        return allowed(await repairs.drop_effects(db, act_at_command_line(ids, now), chosen, most))
    except repairs.NotDropped as error:
        raise NotDone(str(error)) from error


async def drop_letters(db: Connection, only: Sequence[int] | None, ids: Ids, now: datetime) -> int:
    return allowed(await repairs.drop_letters(db, act_at_command_line(ids, now), only))


async def delete_replayed(db: Connection, letter: DeadLetter, ids: Ids, now: datetime) -> None:
    allowed(await repairs.delete_replayed(db, act_at_command_line(ids, now), letter))
