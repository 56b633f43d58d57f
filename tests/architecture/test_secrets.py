"""Secrets are compared in constant time, by one function."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("actors", "http", "storage", "supervision")


def test_only_one_function_compares_secrets() -> None:
    assert [str(path) for path in modules() if names_compare_digest(path)] == ["storage/secrets.py"]


def modules() -> list[Path]:
    return sorted(path.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def names_compare_digest(path: Path) -> bool:
    """True if the module uses `compare_digest`, imported under any name."""
    source = (ROOT / path).read_text("utf-8")
    if "compare_digest" not in source:  # parsing takes much longer
        return False
    for node in ast.walk(ast.parse(source)):
        names = {getattr(node, "attr", None), getattr(node, "id", None), getattr(node, "name", None)}
        if "compare_digest" in names:
            return True
    return False
