"""The work of the commands about the outbox and about dead letters in the database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ...actors import effects, repairs
from ...actors.dead_letters import masked
from ...actors.kernel.ids import Ids
from ...actors.staff import act_at_command_line
from ...storage import dead_letters, outbox_upkeep
from ...storage.dead_letters import DeadLetter
from ...storage.engine.database import Connection
from ...storage.engine.json_values import JsonObject
from ...storage.outbox_upkeep import ChosenEffects, WaitingEffect
from ...storage.paging import Page
from ..redaction import redacted
from .acting import NotDone, allowed
from .rows import Transact

__all__ = ["effects"]  # which registers what happens when an effect is given up

AT_ONCE = 500  # effects that one transaction drops


async def list_effects(
    db: Connection, chosen: ChosenEffects, limit: int, text: bool, ids: Ids, now: datetime
) -> list[JsonObject]:
    """Return effects, the oldest first, as JSON."""
    return [_effect(one, now, text=text) for one in await outbox_upkeep.waiting(db, chosen, limit)]


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


async def list_letters(db: Connection, limit: int, text: bool, ids: Ids, now: datetime) -> list[JsonObject]:
    """Return parked messages, the latest first, as JSON."""
    return [letter_shown(one, text=text) for one in await dead_letters.page(db, Page(limit))]


async def find_letter(db: Connection, id: int, ids: Ids, now: datetime) -> DeadLetter:
    """Return a parked message. Raises NotDone if there is none."""
    letter = await dead_letters.find(db, id)
    if letter is None:
        raise NotDone(f"There is no dead letter {id}.")
    return letter


async def drop_letters(db: Connection, only: Sequence[int] | None, ids: Ids, now: datetime) -> int:
    return allowed(await repairs.drop_letters(db, act_at_command_line(ids, now), only))


async def delete_replayed(db: Connection, letter: DeadLetter, ids: Ids, now: datetime) -> None:
    allowed(await repairs.delete_replayed(db, act_at_command_line(ids, now), letter))


def letter_shown(letter: DeadLetter, *, text: bool) -> JsonObject:
    """Return a parked message as JSON. Unless `text` is asked for, texts that people wrote are masked."""
    return {
        "id": str(letter.id),
        "created_at": letter.created_at.isoformat(),
        "address": letter.address,
        "message": letter.kind,
        "error": letter.error if text else redacted(letter.error),
        "request_id": letter.request_id,
        "causes": list(letter.causes),
        "contents": letter.message if text else masked(letter.message),
    }


def _effect(one: WaitingEffect, now: datetime, *, text: bool) -> JsonObject:
    error = None if one.error is None else one.error if text else redacted(one.error)
    carried_out = one.claimed_until is not None and one.claimed_until > now
    return {
        "id": str(one.id),
        "queue": one.queue,
        "kind": one.kind,
        "partition": one.key,
        "group": one.group,
        "state": "carried out" if carried_out else "due" if one.due_at <= now else "failed" if error else "later",
        "created_at": one.created_at.isoformat(),
        "due_at": one.due_at.isoformat(),
        "attempts": one.attempts,
        "error": error,
        "request_id": one.request_id,
        "contents": one.payload if text else masked(one.payload),
    }
