"""Which modules of the project import which others, read from their sources."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("storage", "actors", "http", "supervision")
MODULES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def name_of(module: Path) -> str:
    """The dotted name of a module, from the root on: `http.api.statuses`, and `supervision` for its `__init__.py`."""
    parts = module.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = frozenset(map(name_of, MODULES))


def imported(module: Path) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything that a module imports, type checking included.

    Names of the project begin at its root. `from ..api import statuses` yields the module `http.api.statuses`;
    `from ..router import api` yields `http.router`.
    """
    package = module.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            start = package[: len(package) - node.level + 1]
            parent = ".".join((*start, *([node.module] if node.module else [])))
            for alias in node.names:
                child = f"{parent}.{alias.name}"
                yield node.lineno, child if child in NAMES or not node.module else parent
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
