"""Every function, class and constant of the four rooms is used by the rooms themselves, and not by tests alone."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).parents[2]
MODULES = [
    path for room in ("actors", "http", "storage", "supervision") for path in sorted((ROOT / room).rglob("*.py"))
]

# The users of the simulation kit are tests.
KIT = ROOT / "supervision" / "testing"

Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_found_by_name(node: ast.AST) -> TypeGuard[Function]:
    """True for a function that is only found by its name: a decorator with arguments registers what it decorates."""
    return isinstance(node, Function) and not any(isinstance(one, ast.Call) for one in node.decorator_list)


def overriding() -> set[str]:
    """The names of methods that stand in the place of one in a library's class: the library calls them."""
    names: set[str] = set()
    for path in MODULES:
        inside = path.relative_to(ROOT).with_suffix("").parts
        module = import_module(".".join(("troupe", *(part for part in inside if part != "__init__"))))
        for kind in (one for one in vars(module).values() if isinstance(one, type) and is_ours(one)):
            foreign = [base for base in kind.__mro__ if not is_ours(base)]
            names |= {name for name in vars(kind) if any(hasattr(base, name) for base in foreign)}
    return names


def is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "troupe"


def mentioned(node: ast.AST) -> str | None:
    """The name that is used: as a name, an attribute, an import, or a text (for `getattr` and templates)."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name) | ast.keyword(arg=str(name)):
            return name
        case ast.Constant(value=str(text)) if text.isidentifier():
            return text
        case _:
            return None


def read(node: ast.AST) -> str | None:
    """The name that is read or imported. Texts do not count: a constant is not found by its name."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name) | ast.alias(name=name):
            return name
        case _:
            return None


def values(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the name of each class, constant and alias of a type that stands directly in a module."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield from ((node.lineno, one.id) for one in ast.walk(target) if isinstance(one, ast.Name))


@dataclass
class Sources:
    """What modules define, and the names that they use."""

    functions: list[tuple[Path, int, str]] = field(default_factory=list[tuple[Path, int, str]])
    values: list[tuple[Path, int, str]] = field(default_factory=list[tuple[Path, int, str]])
    mentioned: set[str | None] = field(default_factory=set[str | None])
    read: set[str | None] = field(default_factory=set[str | None])

    def add(self, path: Path, tree: ast.Module) -> None:
        self.values += [(path, line, name) for line, name in values(tree)]
        for node in ast.walk(tree):
            self.mentioned.add(mentioned(node))
            self.read.add(read(node))
            if is_found_by_name(node):
                self.functions.append((path, node.lineno, node.name))

    def unused(self, elsewhere: set[str], templates: str) -> list[str]:
        """The definitions that nothing uses. A library uses the names `elsewhere`."""
        functions = [one for one in self.functions if one[2] not in self.mentioned | elsewhere]
        found = functions + [one for one in self.values if one[2] not in self.read]
        return [
            f"{path.relative_to(ROOT)}:{line} {name}"
            for path, line, name in found
            if KIT not in path.parents and not name.startswith("__") and name not in templates
        ]


def test_nothing_is_there_for_tests_alone() -> None:
    sources = Sources()
    for path in MODULES:
        sources.add(path, ast.parse(path.read_text("utf-8")))
    templates = "".join(path.read_text("utf-8") for path in (ROOT / "http").rglob("*.html"))
    assert sources.unused(overriding(), templates) == []


def test_a_function_a_constant_and_a_class_that_nothing_uses_are_found() -> None:
    sources = Sources()
    source = "ONE, TWO = 1, 2\nThree = int\nclass Four: pass\ndef five(x=TWO): return 'Three'\n"
    sources.add(ROOT / "one.py", ast.parse(source))
    assert sources.unused(set(), "") == ["one.py:4 five", "one.py:1 ONE", "one.py:2 Three", "one.py:3 Four"]
