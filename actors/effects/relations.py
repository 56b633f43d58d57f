"""Telling accounts how they stand to each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...storage import relations
from ...storage.engine.database import Connection
from ..facts.fact import promised_with
from ..facts.relations import ChangedDomainBlocks, ChangedFollowedTags, ChangedPairs, ChangedRelation
from ..kernel import Address
from ..promises import Effect, Promise, account_of, told_by
from .registry import ANNOUNCEMENTS, Attempt, EffectContext, carries_out


@dataclass(frozen=True, slots=True)
class RereadRelations(Effect):
    """Have the first of these accounts and the others read again how they stand to each other."""

    accounts: tuple[int, ...]


def relations_changed(account_id: int, others: Iterable[int]) -> Promise:
    """Promise to tell an account and others of how they stand to each other now."""
    return told_by(account_id, RereadRelations((account_id, *others)))


@promised_with(ChangedRelation)
def _related(facts: Sequence[ChangedRelation], by: Address) -> Iterator[Promise]:
    """Promise for all at once: each fact is about the account and another one, from one side or the other."""
    me = account_of(by)
    pairs = [(fact.account_id, fact.change.other) for fact in facts]
    yield relations_changed(me, dict.fromkeys(id for pair in pairs for id in pair if id != me))


@promised_with(ChangedDomainBlocks)
def _domains_blocked(facts: Sequence[ChangedDomainBlocks], by: Address) -> Iterator[Promise]:
    return (relations_changed(fact.account_id, ()) for fact in facts)


@promised_with(ChangedFollowedTags)
def _tags_followed(facts: Sequence[ChangedFollowedTags], by: Address) -> Iterator[Promise]:
    return (relations_changed(fact.account_id, ()) for fact in facts)


@carries_out("relation", RereadRelations, ANNOUNCEMENTS)
async def reread_relations(context: EffectContext, effect: RereadRelations, attempt: Attempt) -> None:
    one, *others = effect.accounts
    stamps = [(one, other, await context.database.transact(_draw_stamp, one, other)) for other in others]
    await context.facts.apply([ChangedPairs(effect.accounts, stamps)], attempt.origin)


async def _draw_stamp(db: Connection, one: int, other: int) -> int:
    """Return a stamp above those of all changes that are committed, and below those of all that are to come."""
    await relations.lock_pair(db, one, other)
    return await relations.stamp(db)
