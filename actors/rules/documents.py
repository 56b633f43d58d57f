"""The HTML of the operator's texts, such as policies and descriptions. They may have headings and tables."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import cache
from typing import TYPE_CHECKING

from .markup import LINK_REL, SCHEMES, TAGS

if TYPE_CHECKING:
    import nh3
    from markdown_it import MarkdownIt

# Deeper quotations and lists are shown at this depth.
NESTING = 20


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt  # late, as the other library: few servers have texts in Markdown

    made = MarkdownIt("commonmark", {"html": False, "maxNesting": NESTING})
    return made.enable(["strikethrough", "table"]).disable("image")


@cache
def _cleaner() -> nh3.Cleaner:
    import nh3  # late: see above

    return nh3.Cleaner(
        tags=TAGS | {"h1", "h2", "h3", "h4", "h5", "h6", "hr", "table", "thead", "tbody", "tr", "th", "td"},
        attributes={"a": {"href"}, "ol": {"start"}},
        link_rel=LINK_REL,
        url_schemes=SCHEMES | {"mailto"},
    )


def document_html(source: str) -> str:
    """Return Markdown as safe HTML. Raw HTML in it is shown as text."""
    return _cleaner().clean(_markdown().render(source)).strip()


def terms_on(day: date, effective: Sequence[date]) -> date | None:
    """Return the first day of the terms of service that are in force on a day.

    `effective` are the first days of all terms, in order. Before them, the first terms are in force.
    """
    begun = [first for first in effective if first <= day]
    return begun[-1] if begun else next(iter(effective), None)
