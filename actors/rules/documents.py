"""The HTML of the operator's texts: policies and descriptions, such as policies, which may have headings and tables."""

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
    from markdown_it import MarkdownIt  # late, as the other library: few servers have such texts

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
    """Return which terms of service are in force on a day, of those with these first days, in order.

    Before the first day of the first ones, those are.
    """
    begun = [one for one in effective if one <= day]
    return begun[-1] if begun else next(iter(effective), None)
