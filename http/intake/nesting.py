"""Nested parameters: flat pairs such as `a[b]=1` become one nested dict.

The notation is the one that the API's clients use: `a[]=1`, `a[b]=1`, `a[0][b]=1` and `a[][b]=1`. In the last, a new
element of `a` begins as soon as a key repeats.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from ..answers.errors import Malformed
from .upload import Upload

Pairs = list[tuple[str, str | Upload]]
# A value of a form or of JSON.
Value: TypeAlias = "str | int | float | Upload | list[Value] | dict[str, Value] | None"
Tree = dict[str, Value]

DEEPEST = 8
LONGEST_NAME = 256
BRACKETS = re.compile(r"\[([^\[\]]*)\]")


def nest(pairs: Pairs) -> Tree:
    """Return one nested dict of flat pairs."""
    tree: Tree = {}
    for name, value in pairs:
        if "[" not in name:
            tree[name] = value
        else:
            _place(tree, _steps(name), value)
    return tree


def _steps(name: str) -> list[str]:
    """`a[b][]` as `a`, `b`, and an empty step for a new element."""
    if len(name) > LONGEST_NAME:
        raise Malformed("A parameter name is too long")
    head, _, rest = name.partition("[")
    steps = [head, *BRACKETS.findall(f"[{rest}")]
    if len(steps) > DEEPEST:
        raise Malformed("Parameters are nested too deeply")
    return steps


def _place(tree: Tree, steps: list[str], value: str | Upload) -> None:
    name, rest = steps[0], steps[1:]
    if not rest:
        tree[name] = value
    elif rest[0] == "":
        elements = _list_at(tree, name)
        if len(rest) == 1:
            elements.append(value)
        else:
            _place(_element(elements, rest[1:]), rest[1:], value)
    else:
        _place(_dict_at(tree, name), rest, value)


def _list_at(tree: Tree, name: str) -> list[Value]:
    found = tree.setdefault(name, [])
    if not isinstance(found, list):
        raise Malformed(f"Parameter {name} is given in two shapes")
    return found


def _dict_at(tree: Tree, name: str) -> Tree:
    found = tree.setdefault(name, {})
    if not isinstance(found, dict):
        raise Malformed(f"Parameter {name} is given in two shapes")
    return found


def _element(elements: list[Value], steps: list[str]) -> Tree:
    """The last element, or a new one if it has this key already."""
    last = elements[-1] if elements else None
    if isinstance(last, dict) and not _holds(last, steps):
        return last
    new: Tree = {}
    elements.append(new)
    return new


def _holds(tree: Tree, steps: list[str]) -> bool:
    here: Value = tree
    for step in steps:
        if step == "":
            return False  # a[][b][] goes on adding to the same b
        if not isinstance(here, dict) or step not in here:
            return False
        here = here[step]
    return True
