"""Statuses as they are shown: the row, its author, and for a boost the status inside. Cached by id."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..storage import accounts, statuses, timeline_entries
from ..storage.engine.database import Database
from .cache import RowCache
from .rules.visibility import Perspective, visible

STATUSES_KEPT = 20_000
ACCOUNTS_KEPT = 20_000
DELETIONS_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class ShownStatus:
    """A status with the records that its JSON needs."""

    status: statuses.Status
    author: accounts.Account
    boosted: ShownStatus | None = None

    @property
    def id(self) -> int:
        return self.status.id

    @property
    def is_withdrawn(self) -> bool:
        """True if the author, or the author of the boosted status, is suspended."""
        return self.author.suspended_at is not None or (self.boosted is not None and self.boosted.is_withdrawn)


def may_see(shown: ShownStatus, viewer: Perspective) -> bool:
    """True if a viewer may see a status and, for a boost, the original."""
    if shown.is_withdrawn or not visible(shown.status, viewer):
        return False
    return shown.boosted is None or visible(shown.boosted.status, viewer)


class AccountCache(RowCache[accounts.Account]):
    """A cache of accounts by id."""

    def __init__(self, database: Database, capacity: int = ACCOUNTS_KEPT) -> None:
        async def load(ids: list[int]) -> dict[int, accounts.Account]:
            return await database.read(accounts.find_many, ids)

        super().__init__(load, capacity)


class StatusCache(RowCache[statuses.Status]):
    """A cache of statuses by id.

    A deleted status is missing, and remembered as deleted as long as an effect may be late.
    """

    def __init__(self, database: Database, accounts: AccountCache, capacity: int = STATUSES_KEPT) -> None:
        async def load(ids: list[int]) -> dict[int, statuses.Status]:
            return await database.read(statuses.find_many, ids)

        super().__init__(load, capacity)
        self._accounts = accounts
        self._deleted: dict[int, None] = {}

    async def show(self, id: int) -> ShownStatus | None:
        return (await self.show_many([id])).get(id)

    async def show_many(self, ids: Iterable[int]) -> dict[int, ShownStatus]:
        """Return the records of these statuses, in the given order.

        Takes three queries at most, none if all are cached.
        """
        found = await self.find_many(ids)
        boosted = await self.find_many(row.reblog_of_id for row in found.values() if row.reblog_of_id is not None)
        rows = [*found.values(), *boosted.values()]
        authors = await self._accounts.find_many(row.account_id for row in rows)
        return {id: shown for id, row in found.items() if (shown := _assemble(row, boosted, authors)) is not None}

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
    row: statuses.Status, boosted: dict[int, statuses.Status], authors: dict[int, accounts.Account]
) -> ShownStatus | None:
    author = authors.get(row.account_id)
    if author is None:
        return None
    if row.reblog_of_id is None:
        return ShownStatus(row, author)
    inner = boosted.get(row.reblog_of_id)
    if inner is None or inner.account_id not in authors:
        return None
    return ShownStatus(row, author, ShownStatus(inner, authors[inner.account_id]))


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
        tags=tuple(tag.name for tag in status.tags),
    )
