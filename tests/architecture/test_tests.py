"""The tests' own modules: what several of them use lies in a module without tests."""

import ast
import re
from pathlib import Path

from .imports import import_statements

TESTS = Path(__file__).parents[1]
SUSPECT = re.compile(r"from\s+\S*test_|import\s*\*")  # only what matches is parsed, which takes much longer


def test_no_test_imports_another_and_none_imports_everything() -> None:
    wrong = [
        f"{path.relative_to(TESTS)}:{node.lineno}"
        for path in sorted(TESTS.rglob("*.py"))
        if SUSPECT.search(path.read_text("utf-8"))
        for node in import_statements(path)
        if isinstance(node, ast.ImportFrom)
        and ((node.module or "").rpartition(".")[2].startswith("test_") or node.names[0].name == "*")
    ]
    assert wrong == []
