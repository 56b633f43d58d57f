"""Pins: statuses of the viewer that the profile shows first."""

from __future__ import annotations

from ...actors.commands.pins import Pin, Unpin
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..router import api
from ..views.statuses import answer_with

WRITE = ("write:accounts",)


@api.post("/api/v1/statuses/<id>/pin", auth="user", scopes=WRITE, returns="Status")
async def pin(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Pin(id))
    return await answer_with(context, viewer, id)


@api.post("/api/v1/statuses/<id>/unpin", auth="user", scopes=WRITE, returns="Status")
async def unpin(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Unpin(id))
    return await answer_with(context, viewer, id)
