"""Facts about accounts and their users."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage.accounts import Account
from ...storage.filters import Filter
from ...storage.users import User
from .fact import Fact, Facts


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
            facts.accounts.put(self.id, self.row)


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
