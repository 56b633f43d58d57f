"""Telling a list and its owner's home that the list, or its members, changed."""

from __future__ import annotations

from dataclasses import dataclass

from ..facts import ChangedList
from ..kernel import Address
from .registry import ANNOUNCEMENTS, Attempt, Effect, EffectContext, Promise, carries_out


@dataclass(frozen=True, slots=True)
class RereadList(Effect):
    """Have a list of `account`, and the home of `account`, read their rows again."""

    id: int
    account: int


def list_changed(id: int, owner_id: int, by: Address) -> Promise:
    """Promise, by the turn of the actor at `by`, to tell a list that it, or its members, changed."""
    return Promise(RereadList(id, owner_id), str(by), account=owner_id)


@carries_out("list", RereadList, ANNOUNCEMENTS)
async def reread_list(context: EffectContext, effect: RereadList, attempt: Attempt) -> None:
    await context.facts.apply([ChangedList(effect.id, effect.account, context.ids.next())], attempt.origin)
