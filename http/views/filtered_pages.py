"""Full pages of what a viewer's filters hide some of.

A client takes an empty page for the end of a timeline. So where filters hide entries, the entries after them are read
too, until the page is full.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from ...storage.paging import Page

T = TypeVar("T")

# Reads for one page, and entries that are read for small pages even if it takes more reads. Where nearly everything is
# hidden, the page is shorter, with links to the pages around it.
MOST_READS = 10
MOST_ENTRIES = 200


@dataclass(frozen=True, slots=True)
class FilteredPage(Generic[T]):
    """Entries that were read together: all their ids, what is shown of them, both newest first, and how many are hidden
    by filters."""

    ids: list[int]
    shown: list[T]
    hidden: int


async def read_page(page: Page, read: Callable[[Page], Awaitable[FilteredPage[T]]]) -> FilteredPage[T]:
    """Read a page, and for each entry that is hidden one entry more."""
    whole = latest = await read(page)
    reads = 1
    while latest.hidden and len(latest.ids) == page.limit and (reads < MOST_READS or len(whole.ids) < MOST_ENTRIES):
        reads += 1
        page = _beyond(page, latest)
        latest = await read(page)
        newer, older = (latest, whole) if page.oldest_first else (whole, latest)
        whole = FilteredPage(newer.ids + older.ids, newer.shown + older.shown, newer.hidden + older.hidden)
    return whole


def _beyond(page: Page, read: FilteredPage[T]) -> Page:
    """Return the page of as many entries as are hidden, on the far side of what was read."""
    if page.oldest_first:
        return replace(page, limit=read.hidden, min_id=max(read.ids))
    return replace(page, limit=read.hidden, max_id=min(read.ids))
