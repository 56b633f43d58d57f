"""Facts about the states of accounts and domains that staff decide about."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass

from ...storage import accounts, users
from ...storage.accounts import Account
from ...storage.engine.database import Connection
from ..broadcast.broadcast import account_address
from ..kernel import Address, Origin, SystemCommand
from ..promises import Promise
from .accounts import ChangedAccount, ChangedUser
from .fact import Fact, Facts, StoredFact, stored_as


@dataclass(frozen=True, slots=True)
class TellStates(SystemCommand[None]):
    """To an account: publish its states, as its rows are now, to caches, streams and timelines."""


@stored_as("moderation", {"account": "account_id"})
@dataclass(frozen=True, slots=True)
class ModeratedAccount(StoredFact):
    """The states that staff put an account in, or a move. Its user is `barred` from the API if it may not act now.

    The row is given when it is published. It says the states, while its counts may be outdated.
    """

    account_id: int
    barred: bool = False
    row: Account | None = None

    def cache(self, facts: Facts) -> None:
        facts.acts_of_staff += 1

    async def notify_actors(self, facts: Facts, origin: Origin) -> None:
        """Have every timeline that may show statuses of the account read its rows again.

        Afterwards they may still get statuses of the account that were sent before. They go by its row in the cache.
        """
        await facts.accounts.find(self.account_id)
        facts.broadcast.reread_timelines_of(self.account_id)

    @classmethod
    def promised(cls, facts: Sequence[ModeratedAccount], by: Address) -> Iterable[Promise]:
        return [Promise(fact, f"moderation/{fact.account_id}", account=fact.account_id) for fact in facts]

    async def read_again(self, facts: Facts, origin: Origin) -> Sequence[Fact]:
        """Have the account's actor publish its states, so that states of a later act are published later."""
        await facts.broadcast.runtime.ask(account_address(self.account_id), TellStates(), origin=origin)
        return []


async def moderation_facts(db: Connection, account_id: int) -> Sequence[Fact]:
    """Return the facts about the states of an account, from its rows as they are now."""
    row = (await accounts.find_many(db, [account_id])).get(account_id)
    user = await users.find_user(db, account_id)
    barred = row is None or bool(row.suspended_at or row.deleted_at or (user and user.inactive))
    return ChangedUser(account_id, user), ChangedAccount(account_id), ModeratedAccount(account_id, barred, row)


@stored_as("moderated_domain", {"domain": "domain"})
@dataclass(frozen=True, slots=True)
class ModeratedDomain(StoredFact):
    """Changed states of accounts of a domain and its subdomains."""

    domain: str

    def cache(self, facts: Facts) -> None:
        """Drop all accounts: the cache has no index of domains."""
        facts.acts_of_staff += 1
        facts.accounts.clear()

    def notify_actors(self, facts: Facts, origin: Origin) -> Awaitable[None]:
        return facts.broadcast.reread_timelines()

    def promise(self) -> Promise:
        return Promise(self, f"domain/{self.domain}")

    @classmethod
    def promised(cls, facts: Sequence[ModeratedDomain], by: Address) -> Iterable[Promise]:
        return [fact.promise() for fact in facts]

    async def read_again(self, facts: Facts, origin: Origin) -> Sequence[Fact]:
        return [self]
