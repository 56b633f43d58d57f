"""Limits of requests to other servers: of concurrent requests to a domain, and of all requests by their cause.

A cause is a received activity, or a page that a user views here. The background jobs of a cause, and the jobs that
follow these, share its budget. A chain of jobs has a greatest depth: otherwise an account could lead to a post, and the
post to the next account, for ever.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from ..outgoing.limiter import RequestLimiter
from ..rules.domains import registrable
from .errors import DocumentMissing

# Concurrent requests. Each domain has a few places, so that slow servers leave places to others.
ALL = 128
OF_ONE_DOMAIN = 4

REQUESTS = 200  # of a cause, with redirects: a thread of some authors, with their profiles
DEEPEST = 4  # a parent post, its author, the author's pinned post, an account that it mentions


class DomainLimiter(RequestLimiter):
    """A `RequestLimiter` by the registered domains of hosts, because a domain may have any number of hosts."""

    def __init__(self, all: int = ALL, of_one_domain: int = OF_ONE_DOMAIN) -> None:
        super().__init__(of_one_domain, all, registrable)


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
    """The cause of requests, and the depth of the chain of jobs from it."""

    def __init__(self, budget: FetchBudget, depth: int = 0) -> None:
        self.budget = budget
        self.depth = depth

    def follow_up(self) -> Cause | None:
        """Return the cause of a background job; None if the chain is too long or the budget is spent."""
        if self.depth >= DEEPEST or self.budget.left <= 0:
            return None
        return Cause(self.budget, self.depth + 1)


# Of the running task. Trio copies it to child tasks, such as shared work of several callers.
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
    """Count a request for the current cause. Raise BudgetSpent if there were too many."""
    cause = _cause.get()
    if cause is not None:
        cause.budget.spend()


def is_spent() -> bool:
    """True if the current cause may send no more requests."""
    cause = _cause.get()
    return cause is not None and cause.budget.left <= 0


def cause_of_later_work() -> Cause | None:
    """Return the cause for a background job that is added now; None if the job must not run.

    Without a current cause, such as for a page that a user views, it is a new cause.
    """
    cause = _cause.get()
    return new_cause() if cause is None else cause.follow_up()
