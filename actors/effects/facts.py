"""Publishing facts again: those that a turn has committed, and not published because it crashed."""

from __future__ import annotations

from ..facts.fact import STORED, StoredFact
from .registry import ANNOUNCEMENTS, Attempt, EffectContext, carries_out


async def publish_again(context: EffectContext, fact: StoredFact, attempt: Attempt) -> None:
    """Apply a fact as the rows say it now."""
    await context.facts.apply(await fact.read_again(context.facts, attempt.origin), attempt.origin)


for _kind, _fact in STORED.items():
    carries_out(_kind, _fact, ANNOUNCEMENTS)(publish_again)
