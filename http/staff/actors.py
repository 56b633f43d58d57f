"""The page of the actors: how each kind does, and those with the most trouble."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ...actors.kernel.inspection import ActorFilter, Order
from ...actors.rules.roles import Permission
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..intake.parameters import Choice, Count, Input, Text
from ..intake.request import Request
from ..pages.templates import rendered
from ..router import api
from .live import live
from .member import StaffMember, staff_member

PERMISSION = Permission.VIEW_DEVOPS
SHOWN = 50
ORDERS: tuple[tuple[Order, str], ...] = (
    ("depth", "Messages that wait"),
    ("oldest", "Age of the oldest message"),
    ("turn", "Length of the current turn"),
    ("restarts", "Restarts"),
)


class ActorQuery(Input):
    """The actors to list, and their order."""

    sort: Annotated[Literal["depth", "oldest", "turn", "restarts"], Choice] = "depth"
    kind: Text = ""
    depth: Count = None
    restarts: Count = None


@api.get("/admin/actors", page=True)
async def show(context: HttpContext, request: Request, wanted: ActorQuery) -> Answer:
    """Show the kinds, and the first actors of an order."""
    me = await staff_member(context, request, PERMISSION)
    kinds = [("", "Every kind"), *((kind, kind) for kind in context.runtime.pools)]
    query = request.query_string.decode("ascii", "replace")
    return me.page(
        "actors.html", wanted=wanted, orders=ORDERS, kind_names=kinds, query=query, **await _facts(me, wanted)
    )


@api.get("/admin/actors/live", page=True)
async def keep_current(context: HttpContext, request: Request, wanted: ActorQuery) -> Answer:
    """Send the lists again when they change."""
    me = await staff_member(context, request, PERMISSION)

    async def render() -> bytes:
        return rendered("staff/actors_part.html", **await _facts(me, wanted))

    return live(me, PERMISSION, render)


# `Any`: facts of a template.
async def _facts(me: StaffMember, wanted: ActorQuery) -> dict[str, Any]:
    chosen = ActorFilter(kind=wanted.kind or None, depth=wanted.depth or 0, restarts=wanted.restarts or 0)
    seen = await me.context.runtime.inspection.overview(wanted.sort, chosen, SHOWN)
    return {"kinds": seen.kinds, "actors": seen.actors}
