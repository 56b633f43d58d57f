"""Which modules of the project import which others, read from their sources."""

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("storage", "actors", "http", "supervision")
MODULES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def name_of(module: Path) -> str:
    """The dotted name of a module, from the root on: `http.api.statuses`, and `supervision` for its `__init__.py`."""
    parts = module.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = frozenset(map(name_of, MODULES))


@cache
def import_statements(module: Path) -> Sequence[ast.Import | ast.ImportFrom]:
    """The imports of a module, those inside of functions too."""
    found: list[ast.Import | ast.ImportFrom] = []
    ahead: list[ast.AST] = [ast.parse(module.read_text("utf-8"))]
    while ahead:
        node = ahead.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
        else:
            # Not `ast.walk`: most nodes are parts of expressions, and no expression holds an import.
            for inner in ("body", "orelse", "handlers", "finalbody", "cases"):
                ahead += getattr(node, inner, ())
    return found


@cache
def imported(module: Path) -> Sequence[tuple[int, str]]:
    """Line and dotted name of everything that a module imports, type checking included.

    Names of the project begin at its root. `from ..api import statuses` yields the module `http.api.statuses`;
    `from ..router import api` yields `http.router`.
    """
    return sorted(_imported(module))


def _imported(module: Path) -> Iterator[tuple[int, str]]:
    package = module.relative_to(ROOT).parts[:-1]
    for node in import_statements(module):
        if isinstance(node, ast.ImportFrom) and node.level:
            start = package[: len(package) - node.level + 1]
            parent = ".".join((*start, *([node.module] if node.module else [])))
            for alias in node.names:
                child = f"{parent}.{alias.name}"
                yield node.lineno, child if child in NAMES or not node.module else parent
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""
        else:
            yield from ((node.lineno, alias.name) for alias in node.names)
