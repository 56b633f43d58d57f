"""Each test of a checklist row asserts something."""

import ast
from collections.abc import Iterator
from pathlib import Path

CHECKLIST = Path(__file__).parent.parent / "checklist"

Function = ast.FunctionDef | ast.AsyncFunctionDef


def cases_of(tree: ast.AST) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, Function) and node.name.startswith("test_"):
            yield node


def asserts_something(test: Function) -> bool:
    """True if the test asserts what it computes, or expects an exception."""
    return any(_asserts(node) for node in ast.walk(test))


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return any(isinstance(part, ast.Name) for part in ast.walk(node.test))
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "raises"


def test_every_test_of_the_checklist_asserts_something() -> None:
    found = [
        (path.name, test)
        for path in sorted(CHECKLIST.glob("test_*.py"))
        for test in cases_of(ast.parse(path.read_text("utf-8")))
    ]
    assert len(found) > 150
    assert [f"{name}: {test.name}" for name, test in found if not asserts_something(test)] == []


def test_an_empty_test_and_a_constant_are_found() -> None:
    source = (
        "def test_a(): pass\ndef test_b(): assert True\ndef test_c(x): assert x\nasync def test_d(x): await x.get()"
    )
    assert [asserts_something(test) for test in cases_of(ast.parse(source))] == [False, False, True, False]
