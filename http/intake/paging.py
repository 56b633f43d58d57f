"""Pages: cursors, limits, the Link header with the addresses of the pages before and after, and full pages.

A client takes an empty page for the end of a timeline. So if filters hide entries, further entries are read until
the page is full.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Generic, Literal, TypeVar
from urllib.parse import quote, urlencode

from ...storage.upkeep.paging import Page
from ..answers.answer import Headers
from .parameters import Count, Cursor, Input, LowerCursor
from .request import TOKEN_PARAMETERS

CURSORS = frozenset({"max_id", "since_id", "min_id", "page", "offset"})
# A link leaves out the cursors, which it replaces, and secrets, which proxies and histories would keep.
LEFT_OUT = CURSORS | frozenset(TOKEN_PARAMETERS)
PREV = Literal["min_id", "since_id"]

# Characters that are not escaped in an address. All others are: headers are ASCII, and a hashtag may be in any script.
OF_ADDRESSES = "/:@[]"

# A page is full, or has at least this many reads and this many read entries. If nearly all entries are hidden, the page
# is shorter, with links to the pages around it.
MOST_READS = 10
MOST_ENTRIES = 200

T = TypeVar("T")


class Paged(Input):
    """The parameters of every list that is paged by ids."""

    max_id: Cursor = None
    since_id: LowerCursor = None
    min_id: LowerCursor = None
    limit: Count = None

    def page(self, default: int, largest: int | None = None) -> Page:
        """Return the page that the request asks for. The largest limit is twice the default, unless given."""
        return Page(clamp(self.limit, default, largest), self.max_id, self.since_id, self.min_id)


class PagedByOffset(Input):
    """The parameters of lists that are paged by offset instead of ids."""

    limit: Count = None
    offset: Count = None

    def limit_and_offset(self, default: int, largest: int | None = None) -> tuple[int, int]:
        """Return limit and offset. The largest limit is twice the default, unless given."""
        return clamp(self.limit, default, largest), max(self.offset or 0, 0)


def clamp(limit: int | None, default: int, largest: int | None = None) -> int:
    """Return a limit within its bounds. Larger limits become the maximum, negative limits lose their sign."""
    if limit is None:
        return default
    return min(abs(limit), largest or 2 * default)


def links(
    url: str,
    query: Sequence[tuple[str, str]],
    ids: Sequence[int],
    *,
    prev: PREV = "min_id",
    full: bool = True,
) -> Headers:
    """Return the Link header of a page with these paging ids, newest first; no header for an empty page.

    `query` is the request's own. Its filters and its limit are repeated, its cursors and its token are not. With `full`
    False, the link to the next page is left out. Timelines always have both links.
    """
    if not ids:
        return ()
    start = _start(url, query)
    parts = [_link(start, "max_id", min(ids), "next")] if full else []
    parts.append(_link(start, prev, max(ids), "prev"))
    return (("Link", ", ".join(parts)),)


def offset_links(url: str, query: Sequence[tuple[str, str]], limit: int, offset: int, count: int) -> Headers:
    """Return the Link header of a page of `count` entries that is paged by offset; no header for an empty page.

    There is a next link if the page is full, and a prev link after the second page.
    """
    if not count:
        return ()
    start = _start(url, query)
    parts = [_link(start, "offset", offset + limit, "next")] if count == limit else []
    if offset > limit:
        parts.append(_link(start, "offset", offset - limit, "prev"))
    return (("Link", ", ".join(parts)),) if parts else ()


def _start(url: str, query: Sequence[tuple[str, str]]) -> str:
    """Return the common start of the links of a page, up to the cursor."""
    kept = urlencode([(name, value) for name, value in query if name not in LEFT_OUT]) if query else ""
    return f"{_quoted(url)}?{kept}&" if kept else f"{_quoted(url)}?"


@lru_cache(maxsize=1024)
def _quoted(url: str) -> str:
    return quote(url, safe=OF_ADDRESSES)


def _link(start: str, cursor: str, value: int, relation: str) -> str:
    return f'<{start}{cursor}={value}>; rel="{relation}"'


@dataclass(frozen=True, slots=True)
class FilteredPage(Generic[T]):
    """Entries of a page: all ids and the shown entries, newest first, and the number of entries that filters hide."""

    ids: list[int]
    shown: list[T]
    hidden: int


async def read_page(page: Page, read: Callable[[Page], Awaitable[FilteredPage[T]]]) -> FilteredPage[T]:
    """Read a page, and a further entry for each hidden entry."""
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
    """Return the page behind the entries in `read`, with as many entries as are hidden in `read`."""
    if page.oldest_first:
        return replace(page, limit=read.hidden, min_id=max(read.ids))
    return replace(page, limit=read.hidden, max_id=min(read.ids))
