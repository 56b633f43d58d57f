"""Facts about accounts and their users."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass

from ...storage.accounts import Account
from ...storage.filters import Filter
from ...storage.users import User
from ..kernel import Origin
from .fact import Fact, Facts, ReadAgain


@dataclass(frozen=True, slots=True)
class ChangedAccount(Fact):
    """The row of an account, if it is known, or the counts in it."""

    id: int
    row: Account | None = None

    @property
    def newest(self) -> int:
        return self.id

    def cache(self, facts: Facts) -> None:
        if self.row is None:
            facts.accounts.drop(self.id)
        else:
            facts.put_account(self.row)


@dataclass(frozen=True, slots=True)
class ChangedUser(Fact):
    """The user of an account."""

    account_id: int
    user: User | None

    @property
    def subject(self) -> int:
        return self.account_id


@dataclass(frozen=True, slots=True)
class ChangedFilters(Fact):
    """Changed filters of an account: `rows` are all its filters."""

    account_id: int
    rows: tuple[Filter, ...]

    def cache(self, facts: Facts) -> None:
        facts.viewers.filter_by(self.account_id, self.rows)


@dataclass(frozen=True, slots=True)
class RotatedKey(Fact):
    """A local account signs with another key now."""

    account_id: int


@dataclass(frozen=True, slots=True)
class ReloadedAccount(Fact):
    """The actor of an account begins a new life: in the life before, a turn may have committed without its facts.

    Most facts are promised, and the relay publishes them. This fact covers the others: everything in memory that only
    turns of this account change, without a promise. Of other accounts, all changes are promised.
    """

    account_id: int

    @property
    def subject(self) -> int:
        return self.account_id

    @property
    def for_subject(self) -> ReadAgain:
        return ReadAgain()

    def cache(self, facts: Facts) -> None:
        facts.accounts.drop(self.account_id)

    def notify_actors(self, facts: Facts, origin: Origin) -> Awaitable[None]:
        """Read the rules of the account's streams again."""
        return facts.viewers.read_again([self.account_id])
