"""The first page for staff: health, load, and work that waits for staff."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ...actors.rules.roles import Permission
from ...actors.rules.wording import things_of
from ...storage.engine.json_values import is_object, list_or_empty
from ...storage.upkeep import attention
from ..access.operations import MEANINGS, TreePart
from .member import StaffMember
from .staff_page import Facts, StaffPage

OVERVIEW = StaffPage("/admin", Permission.VIEW_DASHBOARD)
SHOWN_HOSTS = 8


@dataclass(frozen=True, slots=True)
class OpenTask:
    """A link to work that waits for staff: its number, its noun, and the path of its page."""

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
        "obstacles": [MEANINGS[obstacle] for obstacle in obstacles],
        "failed": [name for name, child in children.items() if child.get("state") != "running"],
        "disks": _disks(children.get("disks", {})),
        "open_tasks": await _open_tasks(me),
        "hosts": await context.database.read(attention.failing_hosts, SHOWN_HOSTS),
        "load": " ".join(f"{average:.2f}" for average in os.getloadavg()),
        "streams": len(context.streams),
        "shows_operation": me.may(Permission.VIEW_DEVOPS),
    }


async def _open_tasks(me: StaffMember) -> list[OpenTask]:
    """Return the waiting work that the member has the permission for."""
    waiting = await me.context.database.read(attention.waiting)
    quarantined = sum(kind.quarantined for kind in await me.context.runtime.inspection.kinds())
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
    """Return each disk with its free space, and True if it is nearly full."""
    low = child.get("low", ())
    names = [name for name in child if name not in ("name", "state", "starts", "low")]
    return [(name, str(child[name]), isinstance(low, list) and name in low) for name in names]


def children_of(part: TreePart) -> list[TreePart]:
    """Return the children of a part of the tree."""
    return [child for child in list_or_empty(part.get("children")) if is_object(child)]
