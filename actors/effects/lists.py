"""Telling a list that it, or its members, changed."""

from __future__ import annotations

from dataclasses import dataclass

from ..kernel import Origin
from .registry import Effect, EffectContext, Promise, author_partition, carries_out


@dataclass(frozen=True, slots=True)
class RereadList(Effect):
    """Have a list of `account` read its rows again."""

    id: int
    account: int


def list_changed(id: int, owner_id: int) -> Promise:
    """Promise to tell a list that it, or its members, changed."""
    return Promise(RereadList(id, owner_id), author_partition(owner_id))


@carries_out("list", RereadList)
async def reread_list(context: EffectContext, effect: RereadList, origin: Origin) -> None:
    context.broadcast.list_changed(effect.id, effect.account)
