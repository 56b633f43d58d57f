"""Publishing committed facts whose turn crashed before it published them."""

from __future__ import annotations

from ..facts.fact import STORED, StoredFact
from .registry import ANNOUNCEMENTS, Attempt, EffectContext, executes


async def publish_again(context: EffectContext, fact: StoredFact, attempt: Attempt) -> None:
    """Apply the current state of a fact, from the rows as they are now."""
    await context.facts.apply(await fact.read_again(context.facts, attempt.origin), attempt.origin)


for _kind, _fact in STORED.items():
    executes(_kind, _fact, ANNOUNCEMENTS)(publish_again)
