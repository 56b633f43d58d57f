"""What a timeline that comes back from a crash finds out from rows."""

from __future__ import annotations

from collections.abc import Sequence

from ...storage import edits
from ..context import ActorContext
from ..statuses import ShownStatus


async def edits_since(context: ActorContext, ids: Sequence[int], after_id: int) -> dict[int, ShownStatus]:
    """The latest edits of these statuses with ids above `after_id`, and what the statuses read since."""
    latest = await context.database.read(edits.latest, ids, after_id)
    for id, edit_id in latest.items():
        context.statuses.drop(id)  # its author may not have come to that yet
        context.broadcast.note_edit(id, edit_id)
    shown = await context.statuses.show_many(latest)
    return {edit_id: shown[id] for id, edit_id in latest.items() if id in shown and not context.statuses.is_deleted(id)}
