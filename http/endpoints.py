"""All endpoints of the server, and the table that finds one by method and path.

A module in one of `FOLDERS` registers its endpoints by being there: nothing lists the modules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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


# An endpoint, and the values of its path's parameters.
Match = tuple[Endpoint, dict[str, str]]
# The endpoints of one path by their methods, and the values of its parameters, in order.
End = tuple[dict[str, Endpoint], tuple[str, ...]]


@dataclass(slots=True, eq=False)
class _PathNode:
    """A node of the prefix tree: the segments that may follow, and the endpoints whose paths end here."""

    words: dict[str, _PathNode] = field(default_factory=dict[str, "_PathNode"])
    # Parameters, each with the texts before and behind it, as in `@<name>.rss`. The one with the most text comes first.
    affixed: list[tuple[str, str, _PathNode]] = field(default_factory=list[tuple[str, str, "_PathNode"]])
    parameter: _PathNode | None = None  # one that is a whole segment
    ends: dict[str, Endpoint] = field(default_factory=dict[str, Endpoint])


class PathTable:
    """Endpoints by method and path, for all ways on which requests come.

    Where a word and a parameter both fit, the word wins. A slash at the end is ignored, as in the reference server:
    some clients (Mastodon.py) ask for `/api/v1/instance/`. HEAD is for the endpoint of GET.
    """

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._root = _PathNode()
        self._fixed: dict[tuple[str, str], Endpoint] = {}  # those whose paths have no parameters
        self._names: dict[str, list[str]] = {}
        for endpoint in endpoints:
            self._add(endpoint)
            self._names[endpoint.path] = SEGMENT.findall(endpoint.path)

    def find(self, method: str, path: str) -> Match | None:
        """Return the endpoint and the values of its path's parameters."""
        if (fixed := self._fixed.get((method, path))) is not None:
            return fixed, {}
        parts, method = path.split("/"), "GET" if method == "HEAD" else method
        end = _walk_straight(self._root, parts)
        if end is None or method not in end[0]:
            end = next((end for end in _walk(self._root, parts, 0, ()) if method in end[0]), None)
        if end is None:
            return None
        endpoint, values = end[0][method], end[1]
        return endpoint, dict(zip(self._names[endpoint.path], values, strict=True))

    def methods_of(self, path: str) -> list[str]:
        """Return the methods of all endpoints with a path, in the order of their names; none for an unknown path."""
        found = {method for ends, _ in _walk(self._root, path.split("/"), 0, ()) for method in ends}
        return sorted(found | {"HEAD"}) if "GET" in found else sorted(found)

    def _add(self, endpoint: Endpoint) -> None:
        if not SEGMENT.search(endpoint.path):
            for method in ("GET", "HEAD") if endpoint.method == "GET" else (endpoint.method,):
                self._fixed[method, endpoint.path] = endpoint
        node = self._root
        for part in endpoint.path.split("/"):
            node = _following(node, part)
        if endpoint.method in node.ends:
            raise ValueError(f"{endpoint.method} {endpoint.path} is declared twice")
        node.ends[endpoint.method] = endpoint


def _following(node: _PathNode, part: str) -> _PathNode:
    """Return the node behind a segment of a declared path, which is made if it is not there."""
    if (parameter := SEGMENT.search(part)) is None:
        return node.words.setdefault(part, _PathNode())
    before, behind = part[: parameter.start()], part[parameter.end() :]
    if not before and not behind:
        node.parameter = node.parameter or _PathNode()
        return node.parameter
    for *texts, there in node.affixed:
        if texts == [before, behind]:
            return there
    new = _PathNode()
    node.affixed.append((before, behind, new))
    node.affixed.sort(key=lambda entry: len(entry[0]) + len(entry[1]), reverse=True)
    return new


def _walk_straight(root: _PathNode, parts: Sequence[str]) -> End | None:
    """Return the first end that `_walk` finds if it never has to choose, as for nearly all paths: at half the cost."""
    node, values = root, list[str]()
    for part in parts:
        following = node.words.get(part)
        if following is None:
            following = node.parameter
            if following is None or not part or (node.affixed and any(_affixed(node, part))):
                return None
            values.append(part)
        node = following
    return node.ends, tuple(values)


def _walk(node: _PathNode, parts: Sequence[str], at: int, values: tuple[str, ...]) -> Iterator[End]:
    """Yield what a path may end at: words before parameters, and parameters with much text before those with little."""
    if at == len(parts):
        yield node.ends, values
        return
    part = parts[at]
    if (word := node.words.get(part)) is not None:
        yield from _walk(word, parts, at + 1, values)
    for value, following in _affixed(node, part):
        yield from _walk(following, parts, at + 1, (*values, value))
    if part and node.parameter is not None:
        yield from _walk(node.parameter, parts, at + 1, (*values, part))
    if not part and at == len(parts) - 1:
        yield node.ends, values


def _affixed(node: _PathNode, part: str) -> Iterator[tuple[str, _PathNode]]:
    """Yield the values that a segment has for parameters with text around them, and the nodes behind these."""
    for before, behind, following in node.affixed:
        if len(part) > len(before) + len(behind) and part.startswith(before) and part.endswith(behind):
            yield part[len(before) : len(part) - len(behind)], following


@cache
def all_paths() -> PathTable:
    """Return the table of all endpoints, which all servers of a process share."""
    return PathTable(all_endpoints())
