"""Facts about what an account has done with statuses: favourites, bookmarks, pins, votes and muted conversations."""

from __future__ import annotations

from dataclasses import dataclass

from .fact import Fact


@dataclass(frozen=True, slots=True)
class MarkedStatus(Fact):
    """The flags that an account has put on a status. None stays as it is."""

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
    """A new status, with which its author did nothing yet, and which is in no muted conversation."""

    account_id: int
    id: int


@dataclass(frozen=True, slots=True)
class ChangedConversationMutes(Fact):
    """The conversations that an account muted. Which statuses are in them is not known."""

    account_id: int

    @property
    def subject(self) -> int:
        return self.account_id
