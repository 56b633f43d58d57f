"""Markdown for statuses: CommonMark with strikethrough. Every line break is kept, raw HTML is text, an image a link.

The scanner goes before the parser: addresses, handles, hashtags and emoji are text to it, whatever signs they have.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import regex

from . import markup
from .emojis import USE
from .scan import FoundLink, find

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

# Deeper quotations and lists are shown at this depth.
NESTING = 20
# What may close the emphasis around an address or a name: `_ask @alice_`. The parser keeps it as text if it does not.
CLOSING = "*_~"
BRACKET = regex.compile(r"[\[\]]")


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt  # late: few statuses are written in Markdown

    made = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": NESTING})
    made.inline.ruler.at("text", _text)
    made.add_render_rule("image", _image)
    return made.enable("strikethrough")


def to_html(source: str) -> str:
    """Return Markdown as HTML that is not yet sanitised. Mentions, hashtags and bare addresses in it are still text."""
    return markup.unwrap(_markdown().render(source), "")


def _image(renderer: RendererHTML, tokens: list[Token], place: int, options: OptionsDict, env: EnvType) -> str:
    """Return a link to a picture: a post shows those alone that are attached to it."""
    address = str(tokens[place].attrs["src"])
    text = renderer.renderInlineAsText(tokens[place].children, options, env)
    return f'<a href="{markup.escape_attribute(address)}">{markup.escape(text.strip() or address)}</a>'


def _text(state: StateInline, silent: bool) -> bool:
    """Take the text up to the next sign that means something, and what the scanner found as a whole."""
    start = state.pos
    sign = state.md.inline.terminator_re.search(state.src, start)
    end = sign.start() if sign else state.posMax
    starts, ends = _found(state.src)
    place = bisect_left(starts, start)
    if place < len(starts) and starts[place] <= end:
        end = ends[place]
    end = min(end, state.posMax)
    if not silent and end > start:
        state.append_pending(state.src[start:end])
    state.pos = end
    return end > start


@lru_cache(maxsize=1)  # asked at each sign of one text, then of the next
def _found(source: str) -> tuple[list[int], list[int]]:
    """Return where that begins and ends which the parser must leave as it is."""
    places = [(entity.start, _end_in_markdown(source, entity.start, entity.end, isinstance(entity, FoundLink)))
              for entity in find(source)]  # fmt: skip
    places += [use.span() for use in USE.finditer(source)]
    places.sort()
    return [start for start, _ in places], [end for _, end in places]


def _end_in_markdown(source: str, start: int, end: int, is_link: bool) -> int:
    """Return where an entity ends to the parser: before a bracket that closes the text of a link."""
    depth = 0
    for bracket in BRACKET.finditer(source, start, end) if is_link else ():
        depth += 1 if bracket[0] == "[" else -1
        if depth < 0:
            end = bracket.start()
            break
    return start + len(source[start:end].rstrip(CLOSING))
