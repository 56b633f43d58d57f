"""Imports inside of functions save time or memory, and are in a list with the reason (`late_imports.txt`).

The commands have one reason for all: a command with its options, as `--help` and the completion of shells show them,
loads 300 modules in 0.1 s. With what all commands of its noun do it would load 500 more in 0.3 s, in 26 MiB (measured).
"""

import ast
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .imports import MODULES, NAMES, ROOMS, ROOT

LIST = Path(__file__).with_name("late_imports.txt")
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


def test_each_import_in_a_function_is_in_the_list_with_its_reason() -> None:
    listed: list[tuple[str, str]] = []
    for block in LIST.read_text("utf-8").split("\n\n")[1:]:
        lines = block.strip().splitlines()
        assert lines[0].startswith("# "), "a reason is above the files"
        for line in (line for line in lines if not line.startswith("#")):
            file, _, modules = line.partition(": ")
            listed += [(file, module) for module in modules.split(", ")]
    assert len(listed) == len(set(listed))
    found = {(late.file, late.module) for late in LATE if not late.file.startswith(COMMANDS)}
    assert found - set(listed) == set(), "write them into late_imports.txt with what they save, or at the top"
    assert set(listed) - found == set(), "they are not in functions any more"


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
