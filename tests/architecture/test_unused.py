"""Every function and method of the four rooms is used by the rooms themselves, and not by tests alone."""

import ast
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULES = [
    path for room in ("actors", "http", "storage", "supervision") for path in sorted((ROOT / room).rglob("*.py"))
]

# The users of the simulation kit are tests.
KIT = ROOT / "supervision" / "testing"

Function = ast.FunctionDef | ast.AsyncFunctionDef


def definitions(tree: ast.AST) -> Iterator[Function]:
    """Functions that are only found by their name: a decorator with arguments registers what it decorates."""
    for node in ast.walk(tree):
        if isinstance(node, Function) and not any(isinstance(one, ast.Call) for one in node.decorator_list):
            yield node


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


def mentions(tree: ast.AST) -> Iterator[str]:
    """Every name that a module uses: as a name, an attribute, an import, or a text (for `getattr` and templates)."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.Constant(value=str(text)) if text.isidentifier():
                yield text
            case _:
                pass


def unused() -> list[str]:
    trees = {path: ast.parse(path.read_text("utf-8")) for path in MODULES}
    mentioned = Counter(name for tree in trees.values() for name in mentions(tree))
    templates = "".join(path.read_text("utf-8") for path in (ROOT / "http").rglob("*.html"))
    called = overriding()
    return [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path, tree in trees.items()
        if KIT not in path.parents
        for node in definitions(tree)
        if not mentioned[node.name]
        and not node.name.startswith("__")
        and node.name not in called
        and node.name not in templates
    ]


def test_no_function_is_there_for_tests_alone() -> None:
    assert unused() == []
