"""Events that must not be shown any more: their status was deleted meanwhile, or staff has limited its author.

An event holds the records that it was made from, and waits in feeds until the clients can take it. So each event is
checked against the latest facts when it is sent: once for all subscribers, and again after each fact that may concern
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

from ...storage.accounts import Account
from ..broadcast.events import ConversationShown, NotificationShown, StatusEvent
from ..facts.fact import Facts
from ..facts.moderation import ModeratedAccount, ModeratedDomain
from ..facts.statuses import DeletedStatus, GoneStatus
from ..kernel import Event
from ..kernel.feed import Checked
from ..memory.server_blocks import ServerBlocks
from ..shown.statuses import AccountCache, ShownStatus, StatusCache

# Accounts that staff has limited. Their rows may have left the cache before the last of their events is sent.
STATES_REMEMBERED = 10_000
# The time of a new limit. Any time will do, because times are only compared with None.
JUST_NOW = datetime(1970, 1, 1, tzinfo=UTC)


class Withdrawals:
    """Checks events against deletions, and against the current states of accounts and domains."""

    def __init__(
        self, accounts: AccountCache, statuses: StatusCache, blocks: ServerBlocks,
        waiting: Callable[[], Iterable[Event]],
    ) -> None:  # fmt: skip
        """`waiting` returns the events in feeds that some subscribers have still to read."""
        self._accounts = accounts
        self._statuses = statuses
        self._blocks = blocks
        self._waiting = waiting
        self.facts = 0  # the number of facts so far that may concern an event
        self._states: dict[int, Account] = {}

    def observe(self, facts: Facts) -> None:
        facts.observe(ModeratedAccount, lambda fact: self._remember(fact.row))
        facts.reread_by(self._read_again)
        for kind in (DeletedStatus, GoneStatus, ModeratedAccount, ModeratedDomain):
            facts.observe(kind, self._count)

    def check(self, event: Event) -> Checked:
        """Return the number of facts so far, and the event to show, or None. The event remembers both.

        Nearly always the event to show is the given event; otherwise it is a copy with newer records. The result is
        valid while its number equals `facts`.
        """
        return event.note_check((self.facts, self._latest_of(event)))

    def _count(self, fact: DeletedStatus | GoneStatus | ModeratedAccount | ModeratedDomain) -> None:
        self.facts += 1

    async def _read_again(self) -> None:
        """Read the rows of waiting events, because deletions and limits may have been missed."""
        shown = [status for event in self._waiting() for status in _statuses_of(event)]
        senders = [event.notification.account.id for event in self._waiting() if isinstance(event, NotificationShown)]
        ids = {status.id for status in shown}
        found = await self._statuses.find_many(ids)
        for id in ids - found.keys():
            self._statuses.delete(id)
        rows = await self._accounts.find_many([*(status.author.id for status in shown), *senders])
        for row in rows.values():
            self._remember(row)
        self.facts += 1

    def _remember(self, row: Account | None) -> None:
        if row is None or not (row.id in self._states or row.suspended_at or row.silenced_at or row.deleted_at):
            return
        self._states.pop(row.id, None)
        self._states[row.id] = row
        if len(self._states) > STATES_REMEMBERED:
            del self._states[next(iter(self._states))]

    def _latest_of(self, event: Event) -> Event | None:
        match event:
            case StatusEvent(shown):
                latest = self._shown(shown)
                return event if latest is shown else latest and replace(event, status=latest)
            case NotificationShown(shown):
                status = shown.status and self._shown(shown.status)
                if _is_gone(self._author(shown.account)) or (status is None and shown.status is not None):
                    return None
                return event if status is shown.status else replace(event, notification=replace(shown, status=status))
            case ConversationShown(shown):
                last = shown.last and self._shown(shown.last)
                if last is None and shown.last is not None:
                    return None
                return event if last is shown.last else replace(event, conversation=replace(shown, last=last))
            case _:
                return event

    def _shown(self, shown: ShownStatus) -> ShownStatus | None:
        """Return a status as it is shown now; None if it was deleted or if its author is suspended."""
        latest = self._latest(shown)
        return None if latest is None or latest.is_withdrawn else latest

    def _latest(self, shown: ShownStatus) -> ShownStatus | None:
        """Return a status with the states of its authors as they are now; None if it was deleted."""
        if self._statuses.is_deleted(shown.id):
            return None
        author = self._author(shown.author)
        boosted = shown.boosted and self._latest(shown.boosted)
        if boosted is None and shown.boosted is not None:
            return None
        quoted = shown.quoted and self._latest(shown.quoted)
        if author is shown.author and boosted is shown.boosted and quoted is shown.quoted:
            return shown
        return replace(shown, author=author, boosted=boosted, quoted=quoted)

    def _author(self, account: Account) -> Account:
        """Return an account, or its current row if its states have changed."""
        row = self._accounts.peek(account.id)
        if row is None:
            row = self._with_limits_of_domain(self._states.get(account.id, account))
        same = row.silenced_at == account.silenced_at and _is_gone(row) == _is_gone(account)
        return account if same else row

    def _with_limits_of_domain(self, row: Account) -> Account:
        """Return a row that may be older than a block of its domain, with the limits of this block."""
        if row.domain is None:
            return row
        standing = self._blocks.domains.standing_of(row.domain)
        if standing.suspended and row.suspended_at is None:
            return replace(row, suspended_at=JUST_NOW)
        if standing.silenced and row.silenced_at is None:
            return replace(row, silenced_at=JUST_NOW)
        return row


def _statuses_of(event: Event) -> Iterator[ShownStatus]:
    """Yield the statuses that an event shows, with boosted and quoted statuses."""
    match event:
        case StatusEvent(shown):
            yield from _with_inner(shown)
        case NotificationShown(shown):
            yield from _with_inner(shown.status)
        case ConversationShown(shown):
            yield from _with_inner(shown.last)
        case _:
            pass


def _with_inner(shown: ShownStatus | None) -> Iterator[ShownStatus]:
    if shown is not None:
        yield shown
        yield from _with_inner(shown.boosted)
        yield from _with_inner(shown.quoted)


def _is_gone(account: Account) -> bool:
    """True if nothing of the account is shown: it is suspended or deleted."""
    return account.suspended_at is not None or account.deleted_at is not None
