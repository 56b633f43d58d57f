"""Pages that are not in memory: rows are read in slices and sifted by the timeline's rule until the page is full."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ...storage.statuses import TimelineEntry
from .window import Cursors

SLICES = 8  # at most so many queries for one page; a page that is still not full then is short, and paging goes on

Fetch = Callable[[Cursors], Awaitable[list[TimelineEntry]]]


async def sift(fetch: Fetch, admits: Callable[[TimelineEntry], bool], cursors: Cursors) -> list[int]:
    """Ids of one page, newest first. `fetch` reads rows newest first, as many as the cursors' limit."""
    picked: list[int] = []
    at = Cursors(cursors.max_id, cursors.since_id, cursors.min_id, max(2 * cursors.limit, 40))
    for _ in range(SLICES):
        rows = await fetch(at)
        admitted = [row.id for row in rows if admits(row)]
        newest_first = at.min_id is None
        picked = [*picked, *admitted][: cursors.limit] if newest_first else [*admitted, *picked][-cursors.limit :]
        if len(picked) == cursors.limit or len(rows) < at.limit:
            break
        at = _next(at, rows)
    return picked


def _next(at: Cursors, rows: list[TimelineEntry]) -> Cursors:
    if at.min_id is None:
        return Cursors(rows[-1].id, at.since_id, None, at.limit)
    return Cursors(at.max_id, at.since_id, rows[0].id, at.limit)
