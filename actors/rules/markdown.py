"""Markdown for statuses: CommonMark with strikethrough. Every line break is kept; raw HTML and images are not."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from . import markup

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# Deeper quotations and lists are shown at this depth.
NESTING = 20


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt  # late: few statuses are written in Markdown

    made = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": NESTING})
    return made.enable("strikethrough").disable("image")


def to_html(source: str) -> str:
    """Return Markdown as HTML that is not yet sanitised. Mentions, hashtags and bare addresses in it are still text."""
    return markup.unwrap(_markdown().render(source), "")
