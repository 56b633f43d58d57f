"""`Any`, `cast(…)` and ignored errors of pyright have their reason beside them, or stand in an adapter."""

import io
import re
import tokenize
from collections.abc import Iterator

import pytest

from .imports import MODULES, ROOT

#: Files that give types to code that has none, with that code.
ADAPTERS = {
    "actors/activitypub/rfc9421.py": "http_message_signatures and http_sf have few types",
    "actors/kernel/codec.py": "msgspec takes types as values, and gives back what the type says",
    "http/server/http1.py": "h11's, wsproto's and hypercorn's own attributes; hypercorn's messages have no types",
    "http/server/http2.py": "hypercorn's own attributes",
    "storage/engine/database.py": "rows of asyncpg have no types",
    "storage/engine/prompt.py": "the inner parts of asyncio and trio-asyncio",
    "supervision/testing/direct_connection.py": "asyncpg has no types",
    "supervision/testing/isolation.py": "functions of Trio are replaced in its modules",
    "supervision/testing/lockstep.py": "asyncpg has no types",
}

IGNORE = re.compile(r"(type|pyright): ignore(\[[\w, ]+\])?")
USED = re.compile(rf"\bAny\b|\bcast\b|{IGNORE.pattern}")
DIRECTIVE = re.compile(rf"{IGNORE.pattern}|noqa(: [\w, ]+)?|fmt: \w+|[#\s-]")
UNREASONED = [path for path in MODULES if str(path.relative_to(ROOT)) not in ADAPTERS]


def uses(source: str) -> Iterator[int]:
    """Yield the lines with `Any`, `cast(` or an ignored error."""
    before, importing = "", False
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        importing = (importing and token.type != tokenize.NEWLINE) or token.string == "import"
        is_call = before != "." and token.line[token.end[1] :].startswith("(")
        named = token.type == tokenize.NAME and not importing
        if named and (token.string == "Any" or (token.string == "cast" and is_call)):
            yield token.start[0]
        if token.type == tokenize.COMMENT and IGNORE.search(token.string):
            yield token.start[0]
        before = token.string


def reasons(source: str) -> set[int]:
    """Return the lines that have a comment with words, and the lines below them."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {token.start[0] for token in tokens if token.type == tokenize.COMMENT and DIRECTIVE.sub("", token.string)}
    return lines | {line + 1 for line in lines}


def without_reason(source: str) -> list[int]:
    used = {*uses(source)} if USED.search(source) else None  # taking the source apart takes much longer
    return sorted(used - reasons(source)) if used else []


def test_any_casts_and_ignored_errors_have_a_reason_beside_them() -> None:
    found = {str(path.relative_to(ROOT)): without_reason(path.read_text()) for path in UNREASONED}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("x: Any = f()\n", [1]),
        ("x: Any = f()  # f has no types\n", []),
        ("# f has no types\nx: Any = f()\n", []),
        ("x: Any = f()  # fmt: skip\n", [1]),
        ("x = cast(int, f())\n", [1]),
        ("x = image.cast(int)\n", []),
        ("import f  # pyright: ignore[reportMissingTypeStubs]\n", [1]),
        ("import f  # pyright: ignore[reportMissingTypeStubs]  # it has none\n", []),
        ("from typing import Any, cast\n", []),
    ],
)
def test_a_use_without_a_reason_is_found(source: str, lines: list[int]) -> None:
    assert without_reason(source) == lines


@pytest.mark.parametrize("path", sorted(ADAPTERS))
def test_each_adapter_uses_what_it_is_listed_for(path: str) -> None:
    assert without_reason((ROOT / path).read_text()) != []
