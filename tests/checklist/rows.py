"""The rows of the checklist: statements about the API, by number, and the tests that hold them.

A test names its rows in a marker, `@rows("S043", "S044")`. `python -m tests.checklist` prints them all.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

rows = pytest.mark.rows


def titles() -> dict[str, str]:
    """The title of each row."""
    lines = (TESTS / "checklist" / "rows.txt").read_text("utf-8").splitlines()
    return {number: title for number, _, title in (line.partition(" ") for line in lines)}


@cache
def holders() -> dict[str, list[str]]:
    """The tests of each row that a test names."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        source = path.read_text("utf-8")
        for name, numbers in _marked(ast.parse(source)) if "@rows" in source else ():  # parsing takes much longer
            for number in numbers:
                found.setdefault(number, []).append(f"{path.relative_to(TESTS.parent)}::{name}")
    return found


def table() -> str:
    """All rows with their tests, a line for each row."""
    tests = holders()
    return "\n".join(f"{number}  {title}: {', '.join(tests.get(number, ['-']))}" for number, title in titles().items())


def _marked(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, list[str]]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from _marked(node, f"{node.name}::")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            calls = [
                one for one in node.decorator_list if isinstance(one, ast.Call) and ast.unparse(one.func) == "rows"
            ]
            for call in calls:
                yield f"{inside}{node.name}", [ast.literal_eval(argument) for argument in call.args]
