"""Statuses as they are shown: the row, its author, and for a boost the status inside. Cached by id."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from sys import getsizeof

from ...storage import accounts, statuses, timeline_entries
from ...storage.engine.database import Database
from ..memory.cache import RowCache
from ..rules.visibility import Perspective, state_for, visible

STATUSES_KEPT = 20_000
ACCOUNTS_KEPT = 20_000
SHOWN_KEPT = 5_000  # each holds its records, also when they have left the caches
DELETIONS_REMEMBERED = 10_000
READS_FOR_LATEST = 5  # each further read means that the status was changed again
# A status of another server that is older when it comes is shown in its place, and is no news.
LATE = timedelta(hours=6)
QUOTES_DEEP = 2  # a quoted status is shown whole; of a status that it quotes, only the id is shown


@dataclass(frozen=True, slots=True)
class ShownStatus:
    """A status with the records that its JSON needs. `quoted` is missing if it was deleted.

    `card_author` is the account that the page of the card names as its author.
    """

    status: statuses.Status
    author: accounts.Account
    boosted: ShownStatus | None = None
    quoted: ShownStatus | None = None
    card_author: accounts.Account | None = None

    @property
    def id(self) -> int:
        return self.status.id

    @property
    def is_withdrawn(self) -> bool:
        """True if the author, or the author of the boosted status, is suspended or deleted."""
        author = self.author
        if author.suspended_at is not None or author.deleted_at is not None:
            return True
        return self.boosted is not None and self.boosted.is_withdrawn


def may_see(shown: ShownStatus, viewer: Perspective) -> bool:
    """True if a viewer may see a status and, for a boost, the original."""
    if shown.is_withdrawn or not visible(shown.status, viewer):
        return False
    return shown.boosted is None or visible(shown.boosted.status, viewer)


def quote_state(shown: ShownStatus, viewer: Perspective) -> str | None:
    """Return the state of a status's quote for a viewer; None if it quotes nothing.

    The quoted status is shown only in the state `accepted`.
    """
    state, quoted = shown.status.quote_state, shown.quoted
    if state != "accepted":
        return state
    if quoted is None:
        return "deleted"
    return "unauthorized" if quoted.is_withdrawn else state_for(entry_of(quoted), viewer)


class AccountCache(RowCache[accounts.Account]):
    """A cache of accounts by id."""

    def __init__(self, database: Database, capacity: int = ACCOUNTS_KEPT) -> None:
        async def load(ids: list[int]) -> dict[int, accounts.Account]:
            return await database.read(accounts.find_many, ids)

        super().__init__(load, capacity, lambda account: getsizeof(account.note))


class StatusCache(RowCache[statuses.Status]):
    """A cache of statuses by id.

    A deleted status is missing, and remembered as deleted as long as an effect may be late.
    """

    def __init__(self, database: Database, accounts: AccountCache, capacity: int = STATUSES_KEPT) -> None:
        async def load(ids: list[int]) -> dict[int, statuses.Status]:
            return await database.read(statuses.find_many, ids)

        super().__init__(load, capacity, lambda status: getsizeof(status.content))
        self._accounts = accounts
        # Assembled lately: valid while their records are the records in the caches.
        self._shown: dict[int, ShownStatus] = {}
        self._deleted: dict[int, None] = {}

    async def show(self, id: int) -> ShownStatus | None:
        return (await self.show_many([id])).get(id)

    async def show_latest(self, id: int) -> ShownStatus | None:
        """Return the records of a status. No fact has changed them while they were read.

        An event that is made of them at once is not older than the events before.
        """
        shown = await self.show(id)
        for _ in range(READS_FOR_LATEST):
            if shown is None or self.holds(id, shown.status):
                break
            shown = await self.show(id)
        return shown

    async def show_many(self, ids: Iterable[int]) -> dict[int, ShownStatus]:
        """Return the records of these statuses, in the given order.

        Takes three queries at most, none if all are cached; two more for quotes.
        """
        wanted = dict.fromkeys(ids)
        held = {id: shown for id in wanted if (shown := self._held(id)) is not None}
        if len(held) == len(wanted):
            return held
        made = await self._complete(await self.find_many(id for id in wanted if id not in held))
        self._shown |= made
        while len(self._shown) > SHOWN_KEPT:
            del self._shown[next(iter(self._shown))]
        # Held records may have changed during the queries. They were right when the call began.
        return {id: shown for id in wanted if (shown := made.get(id) or held.get(id)) is not None}

    def _held(self, id: int) -> ShownStatus | None:
        """Return the records of a status if they are assembled, and all of them are still in the caches."""
        shown = self._shown.get(id)
        return shown if shown is not None and self._is_held(shown) else None

    def _is_held(self, shown: ShownStatus, depth: int = 0) -> bool:
        status, author = shown.status, shown.author
        if self.use(status.id) is not status or self._accounts.use(author.id) is not author:
            return False
        if shown.boosted is not None:
            return self._is_held(shown.boosted)
        quoted, shows_quoted = shown.quoted, depth < QUOTES_DEEP and _quoted_id(status) is not None
        if shows_quoted and (quoted is None or not self._is_held(quoted, depth + 1)):
            return False
        named = _card_author_id(status)
        return named is None or (shown.card_author is not None and self._accounts.use(named) is shown.card_author)

    async def show_rows(self, rows: dict[int, statuses.Status]) -> dict[int, ShownStatus]:
        """Return the records of rows that were just read, also of deleted statuses, which are not in the cache."""
        return await self._complete(rows)

    async def show_row(self, row: statuses.Status, author: accounts.Account) -> ShownStatus:
        """Return the records of a status whose row was just stored or read, and may not be in the cache."""
        shown = ShownStatus(row, author)
        return (
            shown
            if _quoted_id(row) is None and row.card is None
            else (await self._complete({row.id: row})).get(row.id, shown)
        )

    async def _complete(self, found: dict[int, statuses.Status]) -> dict[int, ShownStatus]:
        """Return these rows with all authors, boosted and quoted statuses, and the statuses that these quote."""
        boosted = [row.reblog_of_id for row in found.values() if row.reblog_of_id is not None]
        rows = {**await self.find_many(boosted), **found} if boosted else found
        outer: Iterable[statuses.Status] = rows.values()
        for _ in range(QUOTES_DEEP):
            quoted = [id for row in outer if (id := _quoted_id(row)) is not None]
            if not quoted:
                break
            inner = await self.find_many(quoted)
            rows, outer = {**inner, **rows}, inner.values()
        named = (id for row in rows.values() if (id := _card_author_id(row)) is not None)
        authors = await self._accounts.find_many([*(row.account_id for row in rows.values()), *named])
        return {id: shown for id in found if (shown := _assemble(rows[id], rows, authors)) is not None}

    def drop(self, id: int) -> None:
        super().drop(id)
        self._shown.pop(id, None)

    def clear(self) -> None:
        super().clear()
        self._shown.clear()

    def delete(self, id: int) -> None:
        """Forget a deleted status, so that it is shown no more."""
        self.drop(id)
        self._deleted[id] = None
        if len(self._deleted) > DELETIONS_REMEMBERED:
            del self._deleted[next(iter(self._deleted))]

    def is_deleted(self, id: int) -> bool:
        """True if this process deleted the status. Ask before showing a status that was loaded earlier."""
        return id in self._deleted


def _assemble(
    row: statuses.Status, rows: dict[int, statuses.Status], authors: dict[int, accounts.Account], depth: int = 0
) -> ShownStatus | None:
    author = authors.get(row.account_id)
    if author is None:
        return None
    if row.reblog_of_id is not None:
        inner = rows.get(row.reblog_of_id)
        boosted = None if inner is None else _assemble(inner, rows, authors)
        return None if boosted is None else ShownStatus(row, author, boosted)
    quoted_id = _quoted_id(row)
    inner = None if quoted_id is None or depth == QUOTES_DEEP else rows.get(quoted_id)
    quoted = None if inner is None else _assemble(inner, rows, authors, depth + 1)
    return ShownStatus(row, author, None, quoted, authors.get(_card_author_id(row) or 0))


def _card_author_id(row: statuses.Status) -> int | None:
    """Return the account that the page of a status's card names as its author."""
    return None if row.card is None else row.card.facts.author_account_id


def _quoted_id(row: statuses.Status) -> int | None:
    """Return the id of the status that is shown in the quote of a status."""
    return row.quote_of_id if row.quote_state == "accepted" else None


def entry_of(shown: ShownStatus) -> timeline_entries.TimelineEntry:
    """Return a status as timelines hold it. For a boost, mentions, language and media are the original's."""
    status = shown.status
    source = shown.boosted or shown
    return timeline_entries.TimelineEntry(
        id=status.id,
        account_id=status.account_id,
        visibility=status.visibility,
        in_reply_to_id=status.in_reply_to_id,
        in_reply_to_account_id=status.in_reply_to_account_id,
        reblog_of_id=status.reblog_of_id,
        reblog_account_id=status.reblog_account_id,
        mentioned_ids=source.status.mentioned_ids,
        language=source.status.language,
        local=status.local,
        has_media=bool(source.status.media_ids),
        account_domain=shown.author.domain,
        reblog_domain=shown.boosted.author.domain if shown.boosted else None,
        silenced=shown.author.silenced_at is not None,
        withdrawn=shown.is_withdrawn,
        tags=tuple(tag.name for tag in status.tags),
    )
