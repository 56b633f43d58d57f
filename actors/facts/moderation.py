"""Facts about what staff did to accounts and domains."""

from __future__ import annotations

from dataclasses import dataclass

from ..kernel import Origin
from .fact import Fact, Facts


@dataclass(frozen=True, slots=True)
class ModeratedAccount(Fact):
    """The states that staff put an account in, or a move. Its user is `barred` from the API if it may not act now."""

    account_id: int
    barred: bool

    def cache(self, facts: Facts) -> None:
        facts.acts_of_staff += 1

    def announce(self, facts: Facts, origin: Origin) -> None:
        facts.broadcast.moderated(self.account_id)


@dataclass(frozen=True, slots=True)
class ModeratedDomain(Fact):
    """The states of some of a domain's accounts, and of its subdomains'."""

    domain: str

    def cache(self, facts: Facts) -> None:
        """Drop all accounts: those of the domain are not known without reading them."""
        facts.acts_of_staff += 1
        facts.accounts.clear()

    def announce(self, facts: Facts, origin: Origin) -> None:
        facts.broadcast.reread_timelines()
