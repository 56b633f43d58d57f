"""A cache of rows that only their own account reads: the newest of its notifications and of its conversations.

Turns of many accounts change these rows: a favourite, mention, block or deletion changes the notifications of other
accounts. So their facts name the cached pages that they drop, in `OwnRows.observe`. A fact without an account drops the
pages that have its status, and a fact without either drops all pages. A turn that crashed after its commit has
published no facts, so an account that is loaded again drops all pages too (`ReloadedAccount`). A new statement that
changes these rows needs a fact that is observed there. Only pages without cursors are cached: a deleted row that is not
on such a page can't change the page.

Without the cache a page of notifications would cost 2.3 times its CPU, and a page of conversations 4 times. The drops
here cost a post nothing that can be measured.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

from ..facts.accounts import ChangedUser, ReloadedAccount
from ..facts.conversations import ChangedConversation
from ..facts.fact import Facts
from ..facts.moderation import ModeratedAccount, ModeratedDomain
from ..facts.notifications import AddedNotification, ChangedOwnRows, MergedNotifications
from ..facts.relations import ChangedDomainBlocks, ChangedPairs, ChangedRelation
from ..facts.statuses import ChangedStatus, DeletedStatus, EditedStatus, EndedQuotes, GoneStatus
from ..kernel import Message

R = TypeVar("R")
T = TypeVar("T")

ACCOUNTS_KEPT = 2_000  # each with some 10 KB for a page of forty


class OwnRows:
    """The cached pages of the accounts that read theirs last."""

    def __init__(self, capacity: int = ACCOUNTS_KEPT) -> None:
        self._capacity = capacity
        # By the query that a page answers. `Any` is the class of its answer: the type of a dict can't express that.
        self._pages: OrderedDict[int, dict[Message[object], Any]] = OrderedDict()
        self._having: dict[int, set[int]] = {}  # the accounts whose pages have a status
        self._statuses: dict[int, set[int]] = {}  # the statuses on the pages of an account
        self._forgotten = 0

    def observe(self, facts: Facts) -> None:
        """Drop pages when facts make them outdated."""
        facts.observe(AddedNotification, lambda fact: self.forget(fact.account_id))
        facts.observe(MergedNotifications, lambda fact: self.forget(fact.account_id))
        facts.observe(ChangedOwnRows, lambda fact: self.forget(fact.account_id))
        facts.observe(ChangedConversation, lambda fact: self.forget(fact.account_id))
        facts.observe(ChangedRelation, lambda fact: self._forget_all((fact.account_id, fact.change.other)))
        facts.observe(ChangedDomainBlocks, lambda fact: self.forget(fact.account_id))
        facts.observe(ChangedPairs, lambda fact: self._forget_all(fact.accounts))
        facts.observe(ChangedStatus, lambda fact: self._forget_status(fact.id))
        facts.observe(GoneStatus, lambda fact: self._forget_status(fact.id))
        facts.observe(DeletedStatus, self._forget_deleted)
        # An edit replaces the notifications of the edit before, also for accounts that quote the status.
        facts.observe(EditedStatus, lambda fact: self.clear())
        facts.observe(EndedQuotes, lambda fact: self.clear() if fact.quotes else None)
        facts.observe(ChangedUser, lambda fact: self.clear() if fact.user is None else None)
        facts.observe(ModeratedAccount, lambda fact: self.clear())
        facts.observe(ModeratedDomain, lambda fact: self.clear())
        facts.observe(ReloadedAccount, lambda fact: self.clear())
        facts.clear_by(self.clear)

    def find(self, account_id: int, page: Message[R]) -> R | None:
        """Return the rows of a page if they are cached."""
        pages = self._pages.get(account_id)
        if pages is None:
            return None
        self._pages.move_to_end(account_id)
        return pages.get(page)

    async def load(
        self, account_id: int, page: Message[tuple[T, ...]], read: Callable[[], Awaitable[Sequence[T]]],
        status_of: Callable[[T], int | None],
    ) -> tuple[T, ...]:  # fmt: skip
        """Read the rows of a page and cache them, unless a fact drops a page meanwhile: the rows may be older."""
        before = self._forgotten
        rows = tuple(await read())
        if before == self._forgotten:
            self._pages.setdefault(account_id, {})[page] = rows
            self._pages.move_to_end(account_id)
            for row in rows:
                if (status := status_of(row)) is not None:
                    self._having.setdefault(status, set()).add(account_id)
                    self._statuses.setdefault(account_id, set()).add(status)
            if len(self._pages) > self._capacity:
                self._drop(next(iter(self._pages)))
        return rows

    def forget(self, account_id: int) -> None:
        """Drop the pages of an account."""
        self._forgotten += 1
        self._drop(account_id)

    def clear(self) -> None:
        """Drop all pages."""
        self._forgotten += 1
        for kept in (self._pages, self._having, self._statuses):
            kept.clear()

    def _forget_all(self, account_ids: Iterable[int]) -> None:
        for account_id in account_ids:
            self.forget(account_id)

    def _forget_status(self, id: int) -> None:
        self._forgotten += 1
        for account_id in list(self._having.get(id, ())):
            self._drop(account_id)

    def _forget_deleted(self, fact: DeletedStatus) -> None:
        """Drop the pages with a status or its boosts. The end of a boost removes a notification about the original."""
        status = fact.deleted.status
        self._forget_status(status.id)
        if status.reblog_of_id is not None:
            self._forget_status(status.reblog_of_id)
        for boost, _ in fact.deleted.reblogs:
            self._forget_status(boost)

    def _drop(self, account_id: int) -> None:
        self._pages.pop(account_id, None)
        for status in self._statuses.pop(account_id, ()):
            having = self._having[status]
            having.discard(account_id)
            if not having:
                del self._having[status]
