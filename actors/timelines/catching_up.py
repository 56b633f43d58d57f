"""What a timeline that comes back from a crash finds out from rows."""

from __future__ import annotations

from collections.abc import Sequence

from ...storage import edits
from ..backstage import Backstage
from ..statuses import Shown


async def edits_since(backstage: Backstage, ids: Sequence[int], after_id: int) -> dict[int, Shown]:
    """The latest edits of these statuses with ids above `after_id`, and what the statuses read since."""
    latest = await backstage.database.read(edits.latest, ids, after_id)
    for id, edit_id in latest.items():
        backstage.statuses.drop(id)  # its author may not have come to that yet
        backstage.broadcast.note_edit(id, edit_id)
    shown = await backstage.statuses.show_many(latest)
    return {
        edit_id: shown[id] for id, edit_id in latest.items() if id in shown and not backstage.statuses.is_deleted(id)
    }
