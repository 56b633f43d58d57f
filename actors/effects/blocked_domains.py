"""The consequences of a block of a domain that has changed the states of accounts: timelines read their rows again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..facts.fact import promised_with
from ..facts.moderation import ModeratedDomain
from ..kernel import Address
from ..promises import Effect, Promise
from .registry import ANNOUNCEMENTS, Attempt, EffectContext, carries_out


@dataclass(frozen=True, slots=True)
class TellDomain(Effect):
    """Have caches and timelines read the states of a domain's accounts again."""

    domain: str


def domain_moderated(domain: str) -> Promise:
    """Promise to tell of the states of a domain's accounts."""
    return Promise(TellDomain(domain), f"domain/{domain}")


@promised_with(ModeratedDomain)
def _moderated(facts: Sequence[ModeratedDomain], by: Address) -> Iterator[Promise]:
    return (domain_moderated(fact.domain) for fact in facts)


@carries_out("moderated_domain", TellDomain, ANNOUNCEMENTS)
async def tell_domain(context: EffectContext, effect: TellDomain, attempt: Attempt) -> None:
    await context.facts.apply([ModeratedDomain(effect.domain)], attempt.origin)
