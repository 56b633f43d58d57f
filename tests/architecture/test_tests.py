"""The tests' own modules: what several of them use lies in a module without tests."""

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_no_test_imports_another_and_none_imports_everything() -> None:
    wrong = [
        f"{path.relative_to(TESTS)}:{node.lineno}"
        for path in sorted(TESTS.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom)
        and ((node.module or "").rpartition(".")[2].startswith("test_") or node.names[0].name == "*")
    ]
    assert wrong == []
