"""Pages that are not in memory: rows are read in slices and filtered until the page is full."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from ...storage.paging import Page
from ...storage.timeline_entries import TimelineEntry

SLICES = 8  # the most queries for one page; a page that is not full after them is short, and paging goes on

FetchRows = Callable[[Page], Awaitable[list[TimelineEntry]]]


async def read_page(fetch: FetchRows, admits: Callable[[TimelineEntry], bool], page: Page) -> list[int]:
    """Return the ids of one page, newest first. `fetch` reads rows newest first, as many as its page's limit."""
    picked: list[int] = []
    at = replace(page, limit=max(2 * page.limit, 40))
    for _ in range(SLICES):
        rows = await fetch(at)
        admitted = [row.id for row in rows if admits(row)]
        newest_first = at.min_id is None
        picked = [*picked, *admitted][: page.limit] if newest_first else [*admitted, *picked][-page.limit :]
        if len(picked) == page.limit or len(rows) < at.limit:
            break
        at = _next_slice(at, rows)
    return picked


def _next_slice(at: Page, rows: list[TimelineEntry]) -> Page:
    if at.min_id is None:
        return replace(at, max_id=rows[-1].id)
    return replace(at, min_id=rows[0].id)
