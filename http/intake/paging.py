"""Pages: cursors, limits, and the Link header that leads to the neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from urllib.parse import quote, urlencode

from ...storage.paging import Page
from ..answers.answer import Headers
from .ids import Cursor
from .input import Input
from .parameters import Count
from .request import TOKEN_PARAMETERS

CURSORS = frozenset({"max_id", "since_id", "min_id", "page", "offset"})
# What a link does not repeat: the cursors, which it replaces, and secrets, which proxies and histories would keep.
LEFT_OUT = CURSORS | frozenset(TOKEN_PARAMETERS)
PREV = Literal["min_id", "since_id"]

# What stays as it is in an address. Headers are ASCII: a path may be a hashtag in any script.
OF_ADDRESSES = "/:@[]"


class Paged(Input):
    """The parameters of every list that is paged by ids."""

    max_id: Cursor = None
    since_id: Cursor = None
    min_id: Cursor = None
    limit: Count = None

    def page(self, default: int, largest: int | None = None) -> Page:
        """The page asked for; unless said otherwise the largest is twice the default."""
        return Page(clamp(self.limit, default, largest), self.max_id, self.since_id, self.min_id)


def clamp(limit: int | None, default: int, largest: int | None = None) -> int:
    """Above the maximum is the maximum, a negative number loses its sign; nothing is refused."""
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
    """The Link header of a page with these paging ids, newest first; none for an empty page.

    `query` is the request's own, whose filters and limit stay and whose cursors and token go. `full` is False when
    nothing can follow, which leaves out `next`; timelines always name both.
    """
    if not ids:
        return ()
    kept = [(name, value) for name, value in query if name not in LEFT_OUT]
    parts = [_link(url, kept, "max_id", min(ids), "next")] if full else []
    parts.append(_link(url, kept, prev, max(ids), "prev"))
    return (("Link", ", ".join(parts)),)


def _link(url: str, kept: Sequence[tuple[str, str]], cursor: str, value: int, relation: str) -> str:
    query = urlencode([*kept, (cursor, str(value))])
    return f'<{quote(url, safe=OF_ADDRESSES)}?{query}>; rel="{relation}"'
