"""Redaction: the log has no texts that people wrote, addresses, tokens or passwords.

The text of an exception often quotes the wrong value. These rules remove quotations and everything that looks like an
address or a secret. Names of constraints, columns and classes stay, because they are needed to find the cause.
"""

from __future__ import annotations

import re

LONGEST = 300

# PostgreSQL's DETAIL and asyncpg's argument errors repeat the row; pydantic's repeat the input.
_DETAIL = re.compile(r"\s*(DETAIL|CONTEXT|HINT):.*", re.DOTALL)
_ARGUMENT = re.compile(r"(query argument \$\d+): .*", re.DOTALL)
_INPUT = re.compile(r"input_value=.*", re.DOTALL)
_BEARER = re.compile(r"\b(Bearer|Basic)\s+\S+", re.IGNORECASE)
_ADDRESS = re.compile(r"[^\s@<>\"'(=,]+@[^\s@<>\"'),]+")
# Identifiers are short or without digits; tokens and hashes are neither.
_TOKEN = re.compile(r"(?=[\w~+/=-]*\d)(?=[\w~+/=-]*[A-Za-z])[\w~+/=-]{24,}")
_QUOTED = re.compile(r"(?<!\w)(['\"])(.*?)\1(?!\w)", re.DOTALL)
_NAME = re.compile(r"\S{0,40}")


def redacted(text: str) -> str:
    """Return the first line of an error's text without data of people."""
    text = _DETAIL.sub("", text)
    text = _ARGUMENT.sub(r"\1: […]", text)
    text = _INPUT.sub("input_value=[…]", text)
    text = _BEARER.sub(r"\1 […]", text)
    text = _QUOTED.sub(_unquoted, text)
    text = _ADDRESS.sub("[address]", text)
    text = _TOKEN.sub("[token]", text)
    line = text.strip().partition("\n")[0]
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def _unquoted(quotation: re.Match[str]) -> str:
    """Return a quotation as it is if it can be a name, else without its text."""
    quote, text = quotation.groups()
    return f"{quote}{text if _NAME.fullmatch(text) else '…'}{quote}"
