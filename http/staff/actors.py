"""The page of the actors: the numbers of each kind, and the actors with the most trouble."""

from __future__ import annotations

from typing import Annotated, Literal

from ...actors.kernel.inspection import ActorFilter, Order
from ...actors.rules.roles import Permission
from ..intake.parameters import Choice, Count, Input, Text
from .member import StaffMember
from .staff_page import Facts, StaffPage

ACTORS = StaffPage("/admin/actors", Permission.VIEW_DEVOPS)
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


@ACTORS.get("actors.html", part="actors_part.html")
async def show(me: StaffMember, wanted: ActorQuery) -> Facts:
    """Show the kinds, and the first actors in the chosen order."""
    runtime = me.context.runtime
    chosen = ActorFilter(kind=wanted.kind or None, depth=wanted.depth or 0, restarts=wanted.restarts or 0)
    seen = await runtime.inspection.overview(wanted.sort, chosen, SHOWN)
    return {
        "wanted": wanted,
        "orders": ORDERS,
        "kind_names": [("", "Every kind"), *((kind, kind) for kind in runtime.pools)],
        "query": me.request.query_string.decode("ascii", "replace"),
        "kinds": seen.kinds,
        "actors": seen.actors,
    }
