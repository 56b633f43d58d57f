"""Telling accounts how they stand to each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...storage import relations
from ...storage.engine.database import Connection
from ..facts import ChangedPairs
from .registry import ANNOUNCEMENTS, Attempt, Effect, EffectContext, Promise, carries_out, told_by


@dataclass(frozen=True, slots=True)
class RereadRelations(Effect):
    """Have the first of these accounts and the others read again how they stand to each other."""

    accounts: tuple[int, ...]


def relations_changed(account_id: int, others: Iterable[int]) -> Promise:
    """Promise to tell an account and others of how they stand to each other now."""
    return told_by(account_id, RereadRelations((account_id, *others)))


@carries_out("relation", RereadRelations, ANNOUNCEMENTS)
async def reread_relations(context: EffectContext, effect: RereadRelations, attempt: Attempt) -> None:
    one, *others = effect.accounts
    stamps = [(one, other, await context.database.transact(_draw_stamp, one, other)) for other in others]
    await context.facts.apply([ChangedPairs(effect.accounts, stamps)], attempt.origin)


async def _draw_stamp(db: Connection, one: int, other: int) -> int:
    """Return a stamp above those of all changes that are committed, and below those of all that are to come."""
    await relations.lock_pair(db, one, other)
    return await relations.stamp(db)
