"""The first page for staff: health, load, and what needs attention."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import cast

from ...actors.rules.roles import Permission
from ...actors.rules.wording import things_of
from ...storage.upkeep import attention
from ..access.operations import MEANINGS, TreePart
from .member import StaffMember
from .staff_page import Facts, StaffPage

OVERVIEW = StaffPage("/admin", Permission.VIEW_DASHBOARD)
SHOWN_HOSTS = 8


@dataclass(frozen=True, slots=True)
class OpenTask:
    """Something that needs attention: a number, what it counts, and where to see to it."""

    count: str
    words: str
    path: str


@OVERVIEW.get("overview.html", part="overview_part.html")
async def show(me: StaffMember) -> Facts:
    """Show the overview."""
    context, tree = me.context, me.context.operations.tree()
    children = {str(child["name"]): child for child in children_of(tree)}
    obstacles = await context.readiness.obstacles()
    return {
        "obstacles": [MEANINGS[one] for one in obstacles],
        "failed": [name for name, child in children.items() if child.get("state") != "running"],
        "disks": _disks(children.get("disks", {})),
        "open_tasks": await _open_tasks(me),
        "hosts": await context.database.read(attention.failing_hosts, SHOWN_HOSTS),
        "load": " ".join(f"{one:.2f}" for one in os.getloadavg()),
        "streams": len(context.streams),
        "shows_operation": me.may(Permission.VIEW_DEVOPS),
    }


async def _open_tasks(me: StaffMember) -> list[OpenTask]:
    """Return what needs attention, as far as the member may see to it."""
    waiting = await me.context.database.read(attention.waiting)
    quarantined = sum(one.quarantined for one in await me.context.runtime.inspection.kinds())
    known = [
        (waiting.reports, "open reports", "/admin/reports", Permission.MANAGE_REPORTS),
        (waiting.sign_ups, "sign-ups to approve", "/admin/accounts?status=pending", Permission.MANAGE_USERS),
        (waiting.appeals, "appeals", "/admin/appeals", Permission.MANAGE_APPEALS),
        (waiting.dead_letters, "parked messages", "/admin/dead_letters", Permission.VIEW_DEVOPS),
        (quarantined, "actors in quarantine", "/admin/actors", Permission.VIEW_DEVOPS),
    ]
    return [
        OpenTask(_bounded(count), things_of(count, words), path)
        for count, words, path, needed in known
        if count and me.may(needed)
    ]


def _bounded(count: int) -> str:
    return f"{count} or more" if count >= attention.MOST else str(count)


def _disks(child: TreePart) -> list[tuple[str, str, bool]]:
    """Return each disk with its room, and whether it is nearly full."""
    low = child.get("low", ())
    names = [name for name in child if name not in ("name", "state", "starts", "low")]
    return [(name, str(child[name]), isinstance(low, list) and name in low) for name in names]


def children_of(part: TreePart) -> list[TreePart]:
    """Return the parts under a part of the tree."""
    # The children of a part are parts too; a Mapping of objects leaves that open.
    return cast("list[TreePart]", part.get("children", []))
