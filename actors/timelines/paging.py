"""Pages that are not in memory: rows are read in slices and filtered until the page is full."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from ...storage.timeline_entries import TimelineEntry
from ...storage.upkeep.paging import Page

SLICES = 8  # the most queries for one page; a page that is not full after them is short, and paging goes on

FetchRows = Callable[[Page], Awaitable[list[TimelineEntry]]]


class HasPagingId(Protocol):
    """The attribute of a row that pages are cut by."""

    @property
    def id(self) -> int: ...


T = TypeVar("T", bound=HasPagingId)


@dataclass(frozen=True, slots=True)
class AdmittedRows(Generic[T]):
    """The rows of one page, newest first. `reached` is the last id that was read, if reading ended before the page was
    full and before the last row."""

    rows: list[T]
    reached: int | None = None

    @property
    def cursors(self) -> list[int]:
        """The ids from which the pages before and after go on."""
        return [row.id for row in self.rows] + ([] if self.reached is None else [self.reached])


async def read_page(fetch: FetchRows, admits: Callable[[TimelineEntry], bool], page: Page) -> list[int]:
    """Return the ids of one page, newest first. `fetch` reads rows newest first, as many as its page's limit."""
    return [row.id for row in (await read_rows(fetch, admits, page)).rows]


async def read_rows(
    fetch: Callable[[Page], Awaitable[list[T]]], admits: Callable[[T], bool], page: Page
) -> AdmittedRows[T]:
    """Return the rows of one page. `fetch` reads rows newest first, as many as its page's limit."""
    if not page.limit:
        return AdmittedRows([])
    picked: list[T] = []
    at = replace(page, limit=max(2 * page.limit, 40))
    for _ in range(SLICES):
        rows = await fetch(at)
        admitted = [row for row in rows if admits(row)]
        newest_first = at.min_id is None
        picked = [*picked, *admitted][: page.limit] if newest_first else [*admitted, *picked][-page.limit :]
        if len(picked) == page.limit or len(rows) < at.limit:
            return AdmittedRows(picked)
        at = replace(at, max_id=rows[-1].id) if newest_first else replace(at, min_id=rows[0].id)
    return AdmittedRows(picked, at.min_id or at.max_id)
