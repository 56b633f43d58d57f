"""The page of the supervision tree."""

from __future__ import annotations

from dataclasses import dataclass

from ...actors.rules.roles import Permission
from ..access.operations import TreePart
from .member import StaffMember
from .overview import children_of
from .staff_page import Facts, StaffPage

TREE = StaffPage("/admin/tree", Permission.VIEW_DEVOPS)
SHOWN_APART = ("name", "state", "starts", "children")


@dataclass(frozen=True, slots=True)
class ShownPart:
    """A part of the tree, with its other facts and its children."""

    name: str
    state: str
    starts: int
    facts: dict[str, object]
    parts: list[ShownPart]


@TREE.get("tree.html", part="tree_part.html")
async def show(me: StaffMember) -> Facts:
    """Show the tree."""
    return {"part": _shown(me.context.operations.tree())}


def _shown(part: TreePart) -> ShownPart:
    starts = part.get("starts")
    return ShownPart(
        str(part["name"]),
        str(part.get("state", "running")),
        starts if isinstance(starts, int) else 1,
        {name: value for name, value in part.items() if name not in SHOWN_APART and value not in ("", [], (), None)},
        [_shown(child) for child in children_of(part)],
    )
