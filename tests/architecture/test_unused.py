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

# `signatures.py` chooses between two modules with the same functions.
CHOSEN = {("cavage", "claim_of"), ("cavage", "sign"), ("rfc9421", "claim_of"), ("rfc9421", "sign")}

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


def values(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the name of each class, constant and alias of a type that stands directly in a module."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield from ((node.lineno, one.id) for one in ast.walk(target) if isinstance(one, ast.Name))


def top_level(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the name of what stands directly in a module, and is not registered by a decorator."""
    yield from values(tree)
    yield from ((node.lineno, node.name) for node in tree.body if is_found_by_name(node))


@dataclass
class Sources:
    """What modules define, and the names that they use."""

    methods: list[tuple[Path, int, str]] = field(default_factory=list[tuple[Path, int, str]])
    top_level: list[tuple[Path, int, str]] = field(default_factory=list[tuple[Path, int, str]])
    mentioned: set[str | None] = field(default_factory=set[str | None])
    # Modules with what is used of them. Another module may have the same name, and something of it the same too.
    used: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def add(self, path: Path, tree: ast.Module) -> None:
        own = [*top_level(tree)]
        self.top_level += [(path, line, name) for line, name in own]
        modules: dict[str, str] = {}  # by the names under which they are imported here
        of_modules: list[tuple[str, str]] = []
        for node in ast.walk(tree):
            self.mentioned.add(mentioned(node))
            match node:
                case ast.ImportFrom(module=module, names=names):
                    self.used |= {((module or "").rpartition(".")[2], one.name) for one in names}
                    modules |= {one.asname or one.name: one.name for one in names}
                case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr=attribute):
                    of_modules.append((name, attribute))
                case ast.Name(id=name, ctx=ast.Load()):
                    self.used.add((module_name(path), name))
                case ast.FunctionDef() | ast.AsyncFunctionDef() if (node.lineno, node.name) not in own:
                    self.methods += [(path, node.lineno, node.name)] if is_found_by_name(node) else []
                case _:
                    pass
        self.used |= {(modules.get(name, name), attribute) for name, attribute in of_modules}

    def unused(self, elsewhere: set[str], templates: str) -> list[str]:
        """The definitions that nothing uses. A library uses the names `elsewhere`."""
        found = [one for one in self.methods if one[2] not in self.mentioned | elsewhere]
        used = self.used | CHOSEN
        found += [one for one in self.top_level if (module_name(one[0]), one[2]) not in used]
        return [
            f"{path.relative_to(ROOT)}:{line} {name}"
            for path, line, name in found
            if KIT not in path.parents and not name.startswith("__") and name not in templates
        ]


def module_name(path: Path) -> str:
    return path.parent.name if path.stem == "__init__" else path.stem


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
    assert sources.unused(set(), "") == ["one.py:1 ONE", "one.py:2 Three", "one.py:3 Four", "one.py:4 five"]
