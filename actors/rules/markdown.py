"""Markdown for statuses: CommonMark with strikethrough. Every line break is kept; raw HTML and images are not."""

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
    """Return Markdown as HTML that is not yet sanitised. Mentions, hashtags and bare addresses in it are still text."""
    return markup.unwrap(_markdown.render(source), "")
