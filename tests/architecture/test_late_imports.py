"""Imports inside of functions save time or memory. A comment that begins with "late" says at each what it saves.

The commands have one reason for all: a command with its options, as `--help` and the completion of shells show them,
loads 300 modules in 0.1 s. With what all commands of its noun do it would load 500 more in 0.3 s, in 26 MiB (measured).
"""

import ast
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .imports import MODULES, NAMES, ROOMS, ROOT

REASON = re.compile(r"#.*\blate\b", re.IGNORECASE)
COMMANDS = "supervision/commands/"
# Those of other processes than the server, the start of the server, and two that import each other.
NOT_MEASURED = {
    "actors/media/decoders.py",
    "actors/media/worker.py",
    "supervision/commands/completion.py",
    "supervision/process.py",
    "supervision/testing/decorator.py",
}
SERVER = "import troupe.supervision.commands.serve, troupe.supervision.process as process\nprocess._imported()"
# Prints which of the modules are loaded after an import. Each import is made in a child of one process.
LOADED = """
import importlib, json, os, sys
import troupe.supervision.commands.chosen_server, troupe.supervision.commands.options  # what all commands load
for line in sys.stdin:
    before, modules = json.loads(line)
    if not os.fork():
        exec(before)
        print(json.dumps([module for module in modules if module in sys.modules]), flush=True)
        os._exit(0)
    os.wait()
"""


class LateImport(NamedTuple):
    """A module that a file imports in a function, and the names that it takes from it."""

    file: str
    module: str
    is_shadowed: bool  # the file has something else of this name at its top


def late_imports(path: Path) -> Iterator[LateImport]:
    """Find the imports in functions of a file, also those of modules out of packages."""
    file, tree = str(path.relative_to(ROOT)), ast.parse(path.read_text("utf-8"))
    top = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Import):
                yield from (LateImport(file, name.name, False) for name in node.names)
            elif isinstance(node, ast.ImportFrom):
                package = path.relative_to(ROOT).parts[: -node.level] if node.level else ()
                module = ".".join([*package, *([node.module] if node.module else [])])
                for name in node.names:
                    inner = f"{module}.{name.name}"
                    yield LateImport(file, inner if inner in NAMES else module, name.name in top)


LATE = sorted({late for path in MODULES for late in late_imports(path)})


def has_reason(lines: list[str], statement: ast.stmt) -> bool:
    """True if a comment on the statement, or above it and the imports right before it, says why it is late."""
    end = statement.end_lineno or statement.lineno
    if any(REASON.search(line) for line in lines[statement.lineno - 1 : end]):
        return True
    for line in reversed(lines[: statement.lineno - 1]):
        if not line.strip().startswith(("#", "from ", "import ")):
            return False
        if REASON.search(line):
            return True
    return False


def unreasoned(path: Path) -> list[int]:
    """Return the lines of the late imports of a file that have no reason."""
    source = path.read_text("utf-8")
    lines = source.splitlines()
    found = {
        node.lineno
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom) and not has_reason(lines, node)
    }
    return sorted(found)


def test_each_import_in_a_function_says_what_it_saves() -> None:
    files = {late.file for late in LATE if not late.file.startswith(COMMANDS)}
    found = {file: unreasoned(ROOT / file) for file in sorted(files)}
    assert {file: lines for file, lines in found.items() if lines} == {}, "add a comment, or import it at the top"


def test_an_import_without_a_reason_is_found(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        "def f():\n    # Late: 10 ms.\n    import a\n    import b\n    c = 1\n    import d\n    import e  # late\n"
    )
    assert unreasoned(path) == [6]


def test_each_import_in_a_function_saves_something() -> None:
    """Its module is loaded neither at the start of the server nor, in a command, with the options of the command."""
    wanted: dict[str, list[str]] = defaultdict(list)
    for late in LATE:
        if late.file in NOT_MEASURED or late.is_shadowed:
            continue
        command = f"import troupe.{late.file.removesuffix('.py').replace('/', '.')}"
        wanted[command if late.file.startswith(COMMANDS) else SERVER].append(full_name(late.module))
    asked = "".join(json.dumps(pair) + "\n" for pair in wanted.items())
    answers = subprocess.run([sys.executable, "-c", LOADED], input=asked, capture_output=True, text=True, check=True)
    loaded = [json.loads(line) for line in answers.stdout.splitlines()]
    assert len(loaded) == len(wanted)
    assert {before: modules for before, modules in zip(wanted, loaded, strict=True) if modules} == {}


def full_name(module: str) -> str:
    return f"troupe.{module}" if module.partition(".")[0] in ROOMS else module
