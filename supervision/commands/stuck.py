"""Effects and dead letters of the database, as commands list them; apart from `repairing.py`, which imports more."""

from __future__ import annotations

from datetime import datetime

from ...actors.kernel.ids import Ids
from ...actors.masking import masked
from ...storage import dead_letters, outbox_upkeep
from ...storage.dead_letters import DeadLetter
from ...storage.engine.database import Connection
from ...storage.engine.json_values import JsonObject
from ...storage.outbox_upkeep import ChosenEffects, WaitingEffect
from ...storage.paging import Page
from ..redaction import redacted
from .acting import NotDone


async def list_effects(
    db: Connection, chosen: ChosenEffects, limit: int, text: bool, ids: Ids, now: datetime
) -> list[JsonObject]:
    """Return effects, the oldest first, as JSON."""
    return [_effect(one, now, text=text) for one in await outbox_upkeep.waiting(db, chosen, limit)]


async def list_letters(db: Connection, limit: int, text: bool, ids: Ids, now: datetime) -> list[JsonObject]:
    """Return parked messages, the latest first, as JSON."""
    return [letter_shown(one, text=text) for one in await dead_letters.page(db, Page(limit))]


async def find_letter(db: Connection, id: int, ids: Ids, now: datetime) -> DeadLetter:
    """Return a parked message. Raises NotDone if there is none."""
    letter = await dead_letters.find(db, id)
    if letter is None:
        raise NotDone(f"There is no dead letter {id}.")
    return letter


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
