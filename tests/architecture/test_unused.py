"""Every function and method of the four rooms is used by the rooms themselves, and not by tests alone."""

import ast
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


def unused() -> list[str]:
    functions: list[tuple[Path, Function]] = []
    names: set[str | None] = set()
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names.add(mentioned(node))
            if is_found_by_name(node):
                functions.append((path, node))
    templates = "".join(path.read_text("utf-8") for path in (ROOT / "http").rglob("*.html"))
    called = overriding()
    return [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path, node in functions
        if KIT not in path.parents
        and node.name not in names
        and not node.name.startswith("__")
        and node.name not in called
        and node.name not in templates
    ]


def test_no_function_is_there_for_tests_alone() -> None:
    assert unused() == []
