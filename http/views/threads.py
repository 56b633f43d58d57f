"""The thread around a status, as a viewer sees it."""

from __future__ import annotations

from dataclasses import dataclass

from ...actors.rules.visibility import Perspective, belongs_in_thread
from ...actors.shown.statuses import ShownStatus
from ...storage import timeline_entries
from ...storage.timeline_entries import TimelineEntry
from ..access.context import HttpContext
from .statuses import visible_among

# Limits of threads for users and for visitors: ancestors, descendants, and the depth of descendants.
FOR_USERS = (4096, 4096, 4096)
FOR_EVERYBODY = (40, 60, 20)
READ_AT_ONCE = 100  # statuses; a long thread is read in steps, so that it does not block the loop


@dataclass(frozen=True, slots=True)
class Thread:
    """The ancestors of a status, oldest first, and its descendants, each after its parent.

    `is_cut` is True if there may be more descendants.
    """

    above: list[ShownStatus]
    below: list[ShownStatus]
    is_cut: bool


async def thread_around(context: HttpContext, id: int, viewer: Perspective) -> Thread:
    """Return the thread around a status that the viewer may see."""
    up, down, depth = FOR_EVERYBODY if viewer.account_id is None else FOR_USERS
    ancestors = await context.database.read(timeline_entries.ancestors, id, up)
    descendants = await context.database.read(timeline_entries.descendants, id, down, depth)
    return Thread(
        await _shown(context, viewer, ancestors),
        await _shown(context, viewer, descendants),
        is_cut=len(descendants) == down,
    )


async def _shown(context: HttpContext, viewer: Perspective, entries: list[TimelineEntry]) -> list[ShownStatus]:
    ids = [entry.id for entry in entries if belongs_in_thread(entry, viewer)]
    shown: list[ShownStatus] = []
    for start in range(0, len(ids), READ_AT_ONCE):
        shown += await visible_among(context, ids[start : start + READ_AT_ONCE], viewer)
    return shown
