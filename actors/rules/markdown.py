"""Markdown for statuses: CommonMark with strikethrough. Every line break is kept, raw HTML is text, an image a link.

The scanner goes before the parser: addresses, handles, hashtags and emoji are text to it, whatever signs they have.
Nothing that was written is lost: a link that leads nowhere, and an address that is defined but not used, stay text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING

import regex

from . import markup
from .emojis import USE
from .scan import EntityFinder, FoundLink

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

# Deeper quotations and lists are shown at this depth.
NESTING = 20
# The names under which the parser's environment of a text has its finder, and the finder's results for each block.
FINDER, FOUND = "finder", "found"
# Signs that may close the emphasis around an address or a name: `_ask @alice_`. Otherwise the parser keeps them as
# text.
CLOSING = "*_~"
BRACKET = regex.compile(r"[\[\]]")
# Signs of names that are no names: `\@Override`, `\#1`. Elements around them separate the sign from the following text
# for the scanner.
ESCAPED_SIGN = "escaped_sign"
# `[name]: address`, to which `[name]` refers elsewhere.
DEFINITION = regex.compile(r"\[(?P<name>[^\[\]\n]++)\]:")
# Characters of scripts without spaces, with their punctuation; and Hangul, whose particles follow without a space.
EAST_ASIAN = regex.compile(
    r"[[\p{East_Asian_Width=Wide}\p{East_Asian_Width=Fullwidth}\p{East_Asian_Width=Halfwidth}\p{Script=Hangul}]"
    r"--\p{Emoji_Presentation}]",
    regex.VERSION1,
)


@cache
def _markdown() -> MarkdownIt:
    # Late: few statuses are written in Markdown. It takes 10 ms, 68 modules and 0.9 MiB.
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import emphasis, strikethrough

    made = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": NESTING})
    made.validateLink = _leads_somewhere
    made.block.ruler.at("reference", _reference)
    made.inline.ruler.at("text", _text)
    made.inline.ruler.before("escape", "escaped_sign", _escaped_sign)
    made.inline.ruler.at("emphasis", partial(_between_letters, emphasis.tokenize))
    made.inline.ruler.at("strikethrough", partial(_between_letters, strikethrough.tokenize))
    made.add_render_rule("image", _image)
    made.add_render_rule("link_close", _link_end)
    made.add_render_rule("hr", _rule)
    made.add_render_rule(ESCAPED_SIGN, _written_sign)
    return made.enable("strikethrough")


def to_html(source: str) -> str:
    """Return Markdown as HTML that is not yet sanitised. Mentions, hashtags and bare addresses in it are still text."""
    html = markup.unwrap(_markdown().render(source), "")
    if markup.plain(html) or not source.strip():
        return html
    lines = markup.escape(source.strip()).split("\n")  # signs alone: `#` is an empty heading, `-` an empty list
    return f"<p>{'<br>'.join(lines)}</p>"


def _image(renderer: RendererHTML, tokens: list[Token], place: int, options: OptionsDict, env: EnvType) -> str:
    """Return a link to a picture: posts show only attached pictures. Inside of a link, return its description."""
    address = str(tokens[place].attrs["src"])
    text = markup.escape(renderer.renderInlineAsText(tokens[place].children, options, env).strip() or address)
    before = next((token.type for token in reversed(tokens[:place]) if token.type in ("link_open", "link_close")), "")
    return text if before == "link_open" else f'<a href="{markup.escape_attribute(address)}">{text}</a>'


def _link_end(renderer: RendererHTML, tokens: list[Token], place: int, options: OptionsDict, env: EnvType) -> str:
    """Return the end of a link. A link without a text shows its address."""
    opening = tokens[place - 1]
    return f"{markup.escape(str(opening.attrs['href']))}</a>" if opening.type == "link_open" else "</a>"


def _rule(renderer: RendererHTML, tokens: list[Token], place: int, options: OptionsDict, env: EnvType) -> str:
    """Return a line across the page as it is written: posts have no element for it."""
    return f"<p>{tokens[place].markup[:3]}</p>"


def _escaped_sign(state: StateInline, silent: bool) -> bool:
    """Take the sign of a mention or a hashtag that its author has escaped."""
    sign = state.src[state.pos + 1 : state.pos + 2]
    if state.src[state.pos] != "\\" or sign not in ("@", "#"):
        return False
    if not silent:
        state.push(ESCAPED_SIGN, "", 0).content = sign
    state.pos += 2
    return True


def _written_sign(renderer: RendererHTML, tokens: list[Token], place: int, options: OptionsDict, env: EnvType) -> str:
    return f"<span>{tokens[place].content}</span>"


def _leads_somewhere(url: str) -> bool:
    """True if posts may have a link to an address."""
    return url.partition(":")[0].lower() in markup.SCHEMES


def _reference(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Take the definition of an address if its name is used. The parser writes nothing for definitions."""
    from markdown_it.rules_block import reference  # late: see above

    found = DEFINITION.match(state.src, state.bMarks[start] + state.tShift[start])
    if found is not None and state.src.lower().count(f"[{found['name'].lower()}]") == 1:
        return False
    return reference(state, start, end, silent)


def _between_letters(tokenize: Callable[[StateInline, bool], bool], state: StateInline, silent: bool) -> bool:
    """Take signs of emphasis. In East Asian scripts they work at punctuation too, where no space separates words.

    CommonMark wants a space or a sign on the other side: `**is so.** And`. (commonmark-spec#650 has the proposal.)
    """
    start, known = state.pos, len(state.delimiters)
    if not tokenize(state, silent):
        return False
    before, after = state.src[start - 1 : start] if start else "", state.src[state.pos : state.pos + 1]
    if state.src[start] != "_" and (EAST_ASIAN.match(before) or EAST_ASIAN.match(after)):
        for delimiter in state.delimiters[known:]:
            delimiter.open, delimiter.close = not (after or " ").isspace(), not (before or " ").isspace()
    return True


def _text(state: StateInline, silent: bool) -> bool:
    """Take the text up to the next sign with a meaning, and each entity of the scanner as a whole."""
    start = state.pos
    sign = state.md.inline.terminator_re.search(state.src, start)
    end = sign.start() if sign else state.posMax
    starts, ends = _found(state.src, state.env)
    place = bisect_left(starts, start)
    if place < len(starts) and starts[place] <= end:
        end = ends[place]
    end = min(end, state.posMax)
    if not silent and end > start:
        state.append_pending(state.src[start:end])
    state.pos = end
    return end > start


def _found(source: str, env: EnvType) -> tuple[list[int], list[int]]:
    """Return where that begins and ends which the parser must leave as it is.

    It is asked for at each sign of a block, and of the texts of the images in it.
    """
    found: dict[str, tuple[list[int], list[int]]] = env.setdefault(FOUND, {})
    if source not in found:
        finder: EntityFinder = env.setdefault(FINDER, EntityFinder())
        places = [(entity.start, _end_in_markdown(source, entity.start, entity.end, isinstance(entity, FoundLink)))
                  for entity in finder.find(source)]  # fmt: skip
        places += [use.span() for use in USE.finditer(source)]
        places.sort()
        found[source] = [start for start, _ in places], [end for _, end in places]
    return found[source]


def _end_in_markdown(source: str, start: int, end: int, is_link: bool) -> int:
    """Return where an entity ends to the parser: before a bracket that closes the text of a link."""
    depth = 0
    for bracket in BRACKET.finditer(source, start, end) if is_link else ():
        depth += 1 if bracket[0] == "[" else -1
        if depth < 0:
            end = bracket.start()
            break
    return start + len(source[start:end].rstrip(CLOSING))
