"""Markdown as statuses know it: CommonMark with strikethrough, every line break kept, no raw HTML and no images."""

from markdown_it import MarkdownIt

from . import markup

# Deeper quotations and lists are shown at this depth.
NESTING = 20

_markdown = (
    MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": NESTING})
    .enable("strikethrough")
    .disable("image")
)


def to_html(source: str) -> str:
    """Markdown as HTML that still has to be sanitised; mentions, hashtags and bare addresses in it are still text."""
    return markup.unwrap(_markdown.render(source), "")
