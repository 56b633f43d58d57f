"""`Any`, `cast(…)` and ignored errors of pyright have their reason beside them, or stand in an adapter. Their numbers
do not grow.
"""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from .imports import MODULES, ROOT

#: Modules whose whole purpose is to give types to code that has none, with that code.
ADAPTERS = {
    "actors/activitypub/rfc9421.py": "http_message_signatures and http_sf have few types",
    "actors/kernel/codec.py": "msgspec takes types as values, and gives back what the type says",
    "http/asgi.py": "servers and frameworks have types for the dicts of ASGI that are not compatible",
    "http/server/http1.py": "h11's, wsproto's and hypercorn's own attributes; hypercorn's messages have no types",
    "http/server/http2.py": "hypercorn's own attributes",
    "storage/engine/database.py": "rows of asyncpg have no types",
    "storage/engine/json_values.py": "values of JSON are of any type",
    "storage/engine/prompt.py": "the inner parts of asyncio and trio-asyncio",
    "supervision/testing/direct_connection.py": "asyncpg has no types",
    "supervision/testing/isolation.py": "functions of Trio are replaced in its modules",
    "supervision/testing/lockstep.py": "asyncpg has no types",
}

# `Any` and casts, outside of adapters and in them, and ignored errors in all modules. Lower a number when it falls.
# Before you raise one: a type variable, a Protocol or a TypedDict often says more; `object` is enough for a value that
# is only passed on; `is_object` and `is_list` (`storage/engine/json_values.py`) tell values of JSON apart.
MOST = {"outside": 64, "adapters": 72, "ignored": 29}

IGNORE = re.compile(r"(type|pyright): ignore(\[[\w, ]+\])?")
USED = re.compile(rf"\bAny\b|\bcast\b|{IGNORE.pattern}")
DIRECTIVE = re.compile(rf"{IGNORE.pattern}|noqa(: [\w, ]+)?|fmt: \w+|[#\s-]")
UNREASONED = [path for path in MODULES if str(path.relative_to(ROOT)) not in ADAPTERS]


def uses(source: str) -> Iterator[tuple[int, str]]:
    """Yield the lines with `Any`, `cast(` or an ignored error, each with the word "Any", "cast" or "ignored"."""
    before, importing = "", False
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        importing = (importing and token.type != tokenize.NEWLINE) or token.string == "import"
        is_call = before != "." and token.line[token.end[1] :].startswith("(")
        named = token.type == tokenize.NAME and not importing
        if named and (token.string == "Any" or (token.string == "cast" and is_call)):
            yield token.start[0], token.string
        if token.type == tokenize.COMMENT and IGNORE.search(token.string):
            yield token.start[0], "ignored"
        before = token.string
    for line, text in quoted_types(source):
        yield from ((line, word) for word in re.findall(r"\w+", text) if word == "Any")


def quoted_types(source: str) -> Iterator[tuple[int, str]]:
    """Yield the types that are written in quotation marks, with their lines."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.arg(annotation=ast.expr() as written) | ast.AnnAssign(annotation=written):
                yield from _texts(written)
            case ast.FunctionDef(returns=ast.expr() as written) | ast.AsyncFunctionDef(returns=ast.expr() as written):
                yield from _texts(written)
            case ast.Call(func=ast.Name("cast"), args=[written, *_]):
                yield from _texts(written)
            case _:
                pass


def _texts(written: ast.expr) -> Iterator[tuple[int, str]]:
    for node in ast.walk(written):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def hidden(source: str) -> list[int]:
    """Return the lines that give `Any` or `cast` another name, under which they would not be counted."""
    found: list[int] = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module="typing", names=names) if any(name.asname for name in names):
                found.append(node.lineno)
            case ast.Import(names=names) if any(name.name == "typing" for name in names):
                found.append(node.lineno)
            case ast.Assign(value=ast.Name("Any" | "cast")) | ast.AnnAssign(value=ast.Name("Any" | "cast")):
                found.append(node.lineno)
            case _:
                pass
    return found


def reasons(source: str) -> set[int]:
    """Return the lines that have a comment with words, and the lines below them."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {token.start[0] for token in tokens if token.type == tokenize.COMMENT and DIRECTIVE.sub("", token.string)}
    return lines | {line + 1 for line in lines}


@cache
def uses_in(path: Path) -> tuple[tuple[int, str], ...]:
    source = path.read_text()
    return tuple(uses(source)) if USED.search(source) else ()  # taking the source apart takes much longer


def without_reason(source: str) -> list[int]:
    return sorted({line for line, _ in uses(source)} - reasons(source)) if USED.search(source) else []


def counted() -> Counter[str]:
    """Return the numbers that `MOST` bounds."""
    found: Counter[str] = Counter()
    for path in MODULES:
        place = "adapters" if str(path.relative_to(ROOT)) in ADAPTERS else "outside"
        found.update("ignored" if word == "ignored" else place for _, word in uses_in(path))
    return found


def test_any_casts_and_ignored_errors_have_a_reason_beside_them() -> None:
    found = {str(path.relative_to(ROOT)): without_reason(path.read_text()) for path in UNREASONED}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_any_casts_and_ignored_errors_become_no_more() -> None:
    assert {place: number for place, number in counted().items() if number > MOST[place]} == {}


def test_any_and_cast_have_no_other_names() -> None:
    found = {str(path.relative_to(ROOT)): hidden(path.read_text()) for path in MODULES if USED.search(path.read_text())}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("x: Any = f()\n", [1]),
        ("x: Any = f()  # f has no types\n", []),
        ("# f has no types\nx: Any = f()\n", []),
        ("x: Any = f()  # fmt: skip\n", [1]),
        ('x: "list[Any]" = f()\n', [1]),
        ("x = cast(int, f())\n", [1]),
        ('"""Any text."""\n', []),
        ('x = {"": "Any"}\n', []),
        ("x = image.cast(int)\n", []),
        ("import f  # pyright: ignore[reportMissingTypeStubs]\n", [1]),
        ("import f  # pyright: ignore[reportMissingTypeStubs]  # it has none\n", []),
        ("from typing import Any, cast\n", []),
    ],
)
def test_a_use_without_a_reason_is_found(source: str, lines: list[int]) -> None:
    assert without_reason(source) == lines


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("x: dict[str, Any] = cast(Any, f())  # f has no types\n", ["Any", "Any", "cast"]),
        ('x = cast("list[Any]", f())  # Any\n', ["Any", "cast"]),
        ('def f(x: int, y: "Any") -> "tuple[Any, Any]": ...\n', ["Any", "Any", "Any"]),
        ("x = f()  # type: ignore[attr-defined]\n", ["ignored"]),
        ('x = y.cast("Any")\n', []),
    ],
)
def test_each_use_is_counted(source: str, words: list[str]) -> None:
    assert sorted(word for _, word in uses(source)) == words


@pytest.mark.parametrize(
    "source",
    ["import typing\n", "from typing import Any as A\n", "Row = Any\n", "Row: TypeAlias = Any\n", "as_type = cast\n"],
)
def test_another_name_is_found(source: str) -> None:
    assert hidden(source) == [1]


@pytest.mark.parametrize("path", sorted(ADAPTERS))
def test_each_adapter_uses_what_it_is_listed_for(path: str) -> None:
    assert {word for _, word in uses_in(ROOT / path)} - {"ignored"}
