"""Private notes about accounts."""

from __future__ import annotations

from ...actors.commands.notes import WriteNote
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..answers.errors import invalid
from ..intake.parameters import Input, Prose
from ..router import api
from .relations import relationship

LONGEST_NOTE = 2000


class Note(Input):
    comment: Prose = ""


@api.post("/api/v1/accounts/<id>/note", auth="user", scopes=("write:accounts",), returns="Relationship")
async def write_note(context: HttpContext, viewer: Viewer, id: int, note: Note) -> Answer:
    """Write a note that only the viewer sees. An empty note deletes it."""
    if len(note.comment) > LONGEST_NOTE:
        raise invalid(f"Comment is too long (maximum is {LONGEST_NOTE} characters)")
    await viewer.ask(WriteNote(id, note.comment))
    return await relationship(context, viewer, id)
