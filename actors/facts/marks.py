"""Facts about an account's flags on statuses: favourites, bookmarks, pins, votes and muted conversations."""

from __future__ import annotations

from dataclasses import dataclass

from .fact import Fact


@dataclass(frozen=True, slots=True)
class MarkedStatus(Fact):
    """Changed flags of an account on a status. A flag of None has not changed."""

    account_id: int
    id: int
    favourited: bool | None = None
    reblogged: bool | None = None
    bookmarked: bool | None = None
    pinned: bool | None = None
    votes: tuple[int, ...] | None = None

    @property
    def subject(self) -> int:
        return self.account_id


@dataclass(frozen=True, slots=True)
class UnmarkedStatus(Fact):
    """A new status, on which its author has no flags yet, in no muted conversation."""

    account_id: int
    id: int


@dataclass(frozen=True, slots=True)
class ChangedConversationMutes(Fact):
    """The muted conversations of an account. The statuses in them are not known."""

    account_id: int

    @property
    def subject(self) -> int:
        return self.account_id
