"""The page of the supervision tree."""

from __future__ import annotations

from dataclasses import dataclass

from ...actors.rules.roles import Permission
from ..access.context import HttpContext
from ..access.operations import TreePart
from ..answers.answer import Answer
from ..intake.request import Request
from ..pages.templates import rendered
from ..router import api
from .live import live
from .member import StaffMember, staff_member
from .overview import children_of

PERMISSION = Permission.VIEW_DEVOPS
TOLD = ("name", "state", "starts", "children")


@dataclass(frozen=True, slots=True)
class ShownPart:
    """A part of the tree, with what else it says of itself, and the parts under it."""

    name: str
    state: str
    starts: int
    facts: dict[str, object]
    parts: list[ShownPart]


@api.get("/admin/tree", page=True)
async def show(context: HttpContext, request: Request) -> Answer:
    """Show the tree."""
    me = await staff_member(context, request, PERMISSION)
    return me.page("tree.html", part=_root(me))


@api.get("/admin/tree/live", page=True)
async def keep_current(context: HttpContext, request: Request) -> Answer:
    """Send the tree again when it changes."""
    me = await staff_member(context, request, PERMISSION)

    async def render() -> bytes:
        return rendered("staff/tree_part.html", part=_root(me))

    return live(me, PERMISSION, render)


def _root(me: StaffMember) -> ShownPart:
    return _shown(me.context.operations.tree())


def _shown(part: TreePart) -> ShownPart:
    starts = part.get("starts")
    return ShownPart(
        str(part["name"]),
        str(part.get("state", "running")),
        starts if isinstance(starts, int) else 1,
        {name: value for name, value in part.items() if name not in TOLD and value not in ("", [], (), None)},
        [_shown(child) for child in children_of(part)],
    )
