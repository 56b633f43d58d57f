"""Lists on pages for staff: the links to newer and older entries, and the words after something was done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from ...storage.paging import Page
from ..intake.paging import CURSORS
from ..intake.parameters import Input, Text
from ..intake.request import Request

ON_A_PAGE = 40


class Done(Input):
    """The name of what was done on the page before."""

    done: Text = ""


@dataclass(frozen=True, slots=True)
class PageLinks:
    """The addresses of the entries next to those of a page, None where there are none."""

    newer: str | None
    older: str | None


def page_links(request: Request, page: Page, ids: Sequence[int]) -> PageLinks:
    """Return the links of a page with these ids, newest first. The filters of the request are repeated."""
    full = len(ids) == page.limit
    older = bool(ids) and (full or page.min_id is not None)
    newer = bool(ids) and (page.max_id is not None or (page.min_id is not None and full))
    return PageLinks(
        _address(request, "min_id", max(ids)) if newer else None,
        _address(request, "max_id", min(ids)) if older else None,
    )


def with_done(path: str, done: str) -> str:
    """Return the address of a page that says that something was done."""
    return f"{path}?{urlencode({'done': done})}"


def words_of(done: Done, words: Mapping[str, str]) -> str | None:
    """Return what a page says of what was done."""
    return words.get(done.done)


def _address(request: Request, cursor: str, id: int) -> str:
    kept = [(name, value) for name, value in request.query_texts if name not in CURSORS and name != "done"]
    return f"{request.path}?{urlencode([*kept, (cursor, str(id))])}"
