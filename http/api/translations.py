"""Translations. This server has none yet, and answers as clients expect."""

from __future__ import annotations

from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..answers.errors import NotFound
from ..router import api
from ..views.statuses import find_visible


@api.post("/api/v1/statuses/<id>/translate", auth="user", scopes=("read:statuses",))
async def translate(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    """The answer of the reference server without a translation service."""
    await find_visible(context, viewer, id)
    raise NotFound
