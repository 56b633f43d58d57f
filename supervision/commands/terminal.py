"""Lines that fit the terminal on which a command prints them."""

from __future__ import annotations

import shutil
import sys
import textwrap

NARROWEST = 40


def columns() -> int | None:
    """Return the columns of the terminal. None if the output goes elsewhere, where a line must stay whole."""
    return max(shutil.get_terminal_size().columns, NARROWEST) if sys.stdout.isatty() else None


def fitted(line: str, indent: int) -> str:
    """Return a line for the terminal. The rest goes on below, indented."""
    width = columns()
    if width is None or len(line) <= width:
        return line
    before = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line.lstrip(), width, initial_indent=before, subsequent_indent=" " * indent, break_long_words=False,
        break_on_hyphens=False, replace_whitespace=False,
    )  # fmt: skip
