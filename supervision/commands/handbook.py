"""The pages of the operator's handbook, as text for the terminal.

A page is Markdown, so that it can also be read where the source is. Pages have headings, paragraphs, lists, code and
tables alone. A table that is too wide for the terminal becomes a list: its last column stands below the others.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .terminal import columns

if TYPE_CHECKING:
    from markdown_it.token import Token

OPERATIONS = Path(__file__).parents[1] / "operations"
FOLDER = OPERATIONS / "handbook"
INDEX = "README"
PAGE = ".md"
USUAL = 80  # columns, if the output goes elsewhere than to a terminal
WIDEST = 100  # columns: longer lines are hard to read
NARROWEST_TEXT = 30  # columns that the last column of a table needs
GAP = 2  # columns between two of a table
INDENT = "    "
TOGETHER = "\N{NO-BREAK SPACE}"  # between the words of a command, while lines are filled


def subjects() -> list[str]:
    """Return the name of each page, by the alphabet."""
    return sorted(path.stem for path in FOLDER.glob(f"*{PAGE}") if path.stem != INDEX)


def source_of(subject: str) -> str:
    """Return the Markdown of a page."""
    return (FOLDER / f"{subject}{PAGE}").read_text("utf-8")


def title_of(subject: str) -> str:
    """Return the heading of a page."""
    return source_of(subject).partition("\n")[0].removeprefix("# ")


def printed(subject: str) -> str:
    """Return a page for the output of this process."""
    return as_text(source_of(subject), min(columns() or USUAL, WIDEST))


def as_text(markdown: str, width: int) -> str:
    """Return Markdown as lines of at most so many columns. Lines of code stay as they are."""
    from markdown_it import MarkdownIt  # late: most commands need none

    return "\n\n".join(_blocks(MarkdownIt("commonmark").enable("table").parse(markdown), width)) + "\n"


def _blocks(tokens: Sequence[Token], width: int) -> Iterator[str]:
    """Yield each block between two empty lines."""
    at = 0
    while at < len(tokens):
        end = _end(tokens, at)
        inner, token = tokens[at + 1 : end], tokens[at]
        match token.type:
            case "heading_open":
                text = _inline(inner[0])
                yield f"{text}\n{('=' if token.tag == 'h1' else '-') * len(text)}"
            case "paragraph_open":
                yield _filled(_inline(inner[0]), width)
            case "code_block" | "fence":
                yield textwrap.indent(token.content.rstrip("\n"), INDENT)
            case "bullet_list_open" | "ordered_list_open":
                yield "\n".join(_items(inner, width))
            case "table_open":
                yield "\n".join(_table(inner, width))
            case other:
                raise ValueError(f"pages of the handbook have no {other}")
        at = end + 1


def _end(tokens: Sequence[Token], start: int) -> int:
    """Return where the block ends that begins at `start`."""
    depth = 0
    for at in range(start, len(tokens)):
        depth += tokens[at].nesting
        if depth == 0:
            return at
    raise ValueError("a block without an end")


def _items(tokens: Sequence[Token], width: int) -> Iterator[str]:
    at = 0
    while at < len(tokens):
        end = _end(tokens, at)
        mark = f"{tokens[at].info}. " if tokens[at].info else "- "
        indent = " " * len(mark)
        text = textwrap.indent("\n\n".join(_blocks(tokens[at + 1 : end], width - len(mark))), indent)
        yield mark + text.removeprefix(indent)
        at = end + 1


def _table(tokens: Sequence[Token], width: int) -> Iterator[str]:
    head, *rows = _rows(tokens)
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head) - 1)]
    before = sum(widths) + GAP * len(widths)
    if width - before >= NARROWEST_TEXT:
        longest = max(len(row[-1]) for row in (head, *rows))
        rule = ["-" * each for each in (*widths, min(longest, width - before))]
        for row in (head, rule, *rows):
            start = "".join(f"{cell:<{each + GAP}}" for cell, each in zip(row[:-1], widths, strict=True))
            yield _filled(row[-1], width, start, " " * before)
    else:
        for row in (head, *rows):
            yield _filled((" " * GAP).join(filter(None, row[:-1])), width, "", INDENT)
            yield _filled(row[-1], width, INDENT, INDENT)


def _rows(tokens: Sequence[Token]) -> Iterator[list[str]]:
    row: list[str] = []
    for token in tokens:
        if token.type == "tr_open":
            row = []
        elif token.type == "inline":
            row.append(_inline(token))
        elif token.type == "tr_close":
            yield row


def _inline(token: Token) -> str:
    """Return a text without its marks.

    Code has backticks, and a link to a page is followed by the command that prints the page. A cell of a table that is
    nothing else has neither.
    """
    children = token.children or []
    if children and (len(children) == 1 or (children[0].type == "link_open" and children[-1].type == "link_close")):
        return "".join(child.content for child in children)
    text, target = "", ""
    for child in children:
        match child.type:
            case "link_open":
                target = str(child.attrs["href"])
            case "link_close":
                text += f" ({_code(f'troupe help {target.removesuffix(PAGE)}')})"
            case "code_inline":
                text += _code(child.content)
            case "softbreak":
                text += " "
            case _:
                text += child.content
    return text


def _code(content: str) -> str:
    """Return code that stays on one line, unless it is long: a command in two lines is hard to copy."""
    return f"`{content}`".replace(" ", TOGETHER) if len(content) + 2 <= NARROWEST_TEXT else f"`{content}`"


def _filled(text: str, width: int, first: str = "", further: str = "") -> str:
    wrapped = textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=further, break_long_words=False, break_on_hyphens=False
    )
    return wrapped.replace(TOGETHER, " ") or first.rstrip()
