"""All endpoints of the server, and the table that finds one by method and path.

A module in one of `FOLDERS` registers its endpoints by being there: nothing lists the modules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from .router import SEGMENT, Endpoint, api

FOLDERS = ("admin", "api", "federation", "oauth", "settings", "staff", "web")


@cache
def all_endpoints() -> tuple[Endpoint, ...]:
    """Import every module with endpoints and return what they declare, in the order of the modules' names.

    The order does not depend on which of them were imported before.
    """
    for folder in FOLDERS:
        package = import_module(f".{folder}", __package__)
        for module in iter_modules(package.__path__):
            import_module(f".{module.name}", package.__name__)
    return tuple(sorted(api.endpoints, key=lambda endpoint: endpoint.function.__module__))


@dataclass(slots=True, eq=False)
class _PathNode:
    """A node of the prefix tree: the segments that may follow, and the endpoint that ends here."""

    words: dict[str, _PathNode] = field(default_factory=dict[str, "_PathNode"])
    parameter: _PathNode | None = None
    end: Endpoint | None = None


class PathTable:
    """Endpoints by method and path. Where a word and a parameter both fit, the word wins."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._methods: dict[str, _PathNode] = {}
        self._fixed: dict[tuple[str, str], Endpoint] = {}  # those whose paths have no parameters
        self._names: dict[str, list[str]] = {}
        for endpoint in endpoints:
            self._add(endpoint)
            self._names[endpoint.path] = SEGMENT.findall(endpoint.path)

    def find(self, method: str, path: str) -> tuple[Endpoint, dict[str, str]] | None:
        """Return the endpoint and the values of its path's parameters."""
        if (fixed := self._fixed.get((method, path))) is not None:
            return fixed, {}
        root = self._methods.get(method)
        if root is None:
            return None
        parts = path.split("/")
        found = _walk_straight(root, parts) or _walk(root, parts, 0, ())
        if found is None:
            return None
        endpoint, values = found
        return endpoint, dict(zip(self._names[endpoint.path], values, strict=True))

    def _add(self, endpoint: Endpoint) -> None:
        if not SEGMENT.search(endpoint.path):
            self._fixed[endpoint.method, endpoint.path] = endpoint
        node = self._methods.setdefault(endpoint.method, _PathNode())
        for part in endpoint.path.split("/"):
            if SEGMENT.fullmatch(part) is None:
                node = node.words.setdefault(part, _PathNode())
            else:
                node.parameter = node.parameter or _PathNode()
                node = node.parameter
        if node.end is not None:
            raise ValueError(f"{endpoint.method} {endpoint.path} is declared twice")
        node.end = endpoint


def _walk_straight(root: _PathNode, parts: Sequence[str]) -> tuple[Endpoint, tuple[str, ...]] | None:
    """Return what `_walk` finds if it never has to go back, which is so for nearly all paths: at half the cost."""
    node, values = root, list[str]()
    for part in parts:
        word = node.words.get(part)
        if word is None:
            if node.parameter is None or not part:
                return None
            values.append(part)
            word = node.parameter
        node = word
    return None if node.end is None else (node.end, tuple(values))


def _walk(
    node: _PathNode, parts: Sequence[str], at: int, values: tuple[str, ...]
) -> tuple[Endpoint, tuple[str, ...]] | None:
    if at == len(parts):
        return None if node.end is None else (node.end, values)
    word = node.words.get(parts[at])
    found = None if word is None else _walk(word, parts, at + 1, values)
    if found is None and node.parameter is not None and parts[at]:
        found = _walk(node.parameter, parts, at + 1, (*values, parts[at]))
    return found
