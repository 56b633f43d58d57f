"""Telling a list and its owner's home that the list, or its members, changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..facts.fact import promised_with
from ..facts.lists import ChangedList
from ..kernel import Address
from ..promises import Effect, Promise
from .registry import ANNOUNCEMENTS, Attempt, EffectContext, carries_out


@dataclass(frozen=True, slots=True)
class RereadList(Effect):
    """Have a list of `account`, and the home of `account`, read their rows again."""

    id: int
    account: int


@promised_with(ChangedList)
def _changed(facts: Sequence[ChangedList], by: Address) -> Iterator[Promise]:
    return (Promise(RereadList(fact.id, fact.owner_id), str(by), account=fact.owner_id) for fact in facts)


@carries_out("list", RereadList, ANNOUNCEMENTS)
async def reread_list(context: EffectContext, effect: RereadList, attempt: Attempt) -> None:
    await context.facts.apply([ChangedList(effect.id, effect.account, context.ids.next())], attempt.origin)
