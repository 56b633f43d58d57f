"""What the process holds in memory: each class with a container stands in `caches.txt`, with how it follows rows."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from .imports import MODULES, ROOT, name_of

LIST = Path(__file__).with_name("caches.txt")
ROOMS = ("actors", "http")

KINDS = {"facts", "loaded", "newest", "time", "values", "local", "object"}

CONTAINERS = {
    "dict", "set", "list", "deque", "defaultdict", "Counter", "OrderedDict", "LRUCache", "TTLCache",
    "WeakValueDictionary", "WeakKeyDictionary", "WeakSet",
}  # fmt: skip
#: Classes that hold something by their base: caches, and actors, which mirror rows.
BASES = {"RowCache", "RowLoader", "SingleFlight", "EntityActor", "Timeline"}
#: The caches of this project, which other classes hold.
CACHES = {"Computed", "Rendered", "Flights", "NewestVersions", "Subjects", *BASES}
#: Functions that remember their results.
REMEMBERING = {"cache", "lru_cache"}


def listed() -> dict[str, str]:
    lines = [line.split(maxsplit=2) for line in LIST.read_text("utf-8").splitlines()]
    return {name: kind for kind, name, *_ in (line for line in lines if line and not line[0].startswith("#"))}


def holders() -> Iterator[str]:
    """Yield the classes that hold containers, and the functions that remember results."""
    for module in MODULES:
        if module.relative_to(ROOT).parts[0] in ROOMS:
            yield from (f"{name_of(module)}.{name}" for name in _holders_in(module.read_text("utf-8")))


def _holders_in(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            if BASES & {_name(base) for base in node.bases} or any(_holds(part) for part in _assigned(node)):
                yield node.name
        elif isinstance(node, ast.FunctionDef) and REMEMBERING & set(map(_name, node.decorator_list)):
            yield node.name


def _assigned(kind: ast.ClassDef) -> Iterator[ast.expr]:
    """Yield the values of the attributes of a class and of its instances."""
    for node in ast.walk(kind):
        match node:
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
                of_self = isinstance(target, ast.Attribute) and _name(target.value) == "self"
                if of_self or node in kind.body:
                    yield value
            case _:
                pass


def _holds(value: ast.expr) -> bool:
    """True if a value is a container or a cache; also `field(default_factory=dict)`."""
    if isinstance(value, ast.Dict | ast.List | ast.Set | ast.DictComp | ast.ListComp | ast.SetComp):
        return True
    if not isinstance(value, ast.Call):
        return False
    if _name(value.func) == "field":
        return any(
            word.arg == "default_factory" and _name(word.value) in CONTAINERS | CACHES for word in value.keywords
        )
    return _name(value.func) in CONTAINERS | CACHES


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=inner) | ast.Call(func=inner):
            return _name(inner)
        case _:
            return ""


def test_everything_in_memory_is_listed() -> None:
    """Say in `caches.txt` how a new cache learns of changes by other nodes, or why it need not."""
    assert {*holders()} - listed().keys() == set()
    assert listed().keys() - {*holders()} == set()


def test_each_is_of_a_known_kind() -> None:
    assert {*listed().values()} == KINDS


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("class A:\n    def __init__(self):\n        self.rows = {}", ["A"]),
        ("class A:\n    def __init__(self):\n        self._rows: dict[int, str] = dict[int, str]()", ["A"]),
        ("class A:\n    rows: list[int] = field(default_factory=list[int])", ["A"]),
        ("class A:\n    def __init__(self):\n        self.tags = Computed(self._tags, 5)", ["A"]),
        ("class A(RowLoader):\n    pass", ["A"]),
        ("@lru_cache(maxsize=4)\ndef made(text): ...", ["made"]),
        ("class A:\n    def __init__(self):\n        rows = {}\n        self.name = ''", []),
    ],
)
def test_what_holds_something_is_found(source: str, found: list[str]) -> None:
    assert [*_holders_in(source)] == found
