"""Budgets of requests to other servers by cause: an activity that was received, or something looked at here.

Work that a cause leads to later, and the work that this leads to, share its budget. A chain of such work has an end:
otherwise an account could lead to a post, and the post to the next account, for ever.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from .errors import DocumentMissing

REQUESTS = 200  # of one cause, with redirects: a thread of some authors, with their profiles
DEEPEST = 4  # a post above, its author, the author's pinned post, who that names


class BudgetSpent(DocumentMissing):
    """Raised if a cause has led to too many requests."""


class FetchBudget:
    """A number of requests, or of documents, that may still be fetched."""

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self) -> None:
        """Count a request that will be sent. Raise BudgetSpent if there were too many."""
        if self.left <= 0:
            raise BudgetSpent("too many requests for one cause")
        self.left -= 1


class Cause:
    """The cause of requests, and their distance from its beginning."""

    def __init__(self, budget: FetchBudget, depth: int = 0) -> None:
        self.budget = budget
        self.depth = depth

    def follow_up(self) -> Cause | None:
        """Return the cause of work that is done later; None if the chain is too long or the budget is spent."""
        if self.depth >= DEEPEST or self.budget.left <= 0:
            return None
        return Cause(self.budget, self.depth + 1)


# Of the running task. Trio gives it to the tasks that this one starts, such as shared work of several callers.
_cause: ContextVar[Cause | None] = ContextVar("cause", default=None)


def new_cause() -> Cause:
    return Cause(FetchBudget(REQUESTS))


@contextmanager
def caused_by(cause: Cause) -> Generator[None]:
    """Count the requests of the block for a cause."""
    token = _cause.set(cause)
    try:
        yield
    finally:
        _cause.reset(token)


def spend() -> None:
    """Count a request for what is being done. Raise BudgetSpent if there were too many."""
    cause = _cause.get()
    if cause is not None:
        cause.budget.spend()


def is_spent() -> bool:
    """True if what is being done may send no more requests."""
    cause = _cause.get()
    return cause is not None and cause.budget.left <= 0


def cause_of_later_work() -> Cause | None:
    """Return the cause of work that is begun now and done later; None if it is not to be done.

    What a person here looks at is a cause of its own.
    """
    cause = _cause.get()
    return new_cause() if cause is None else cause.follow_up()
