"""Pins: own statuses that a profile shows first."""

from __future__ import annotations

from ...actors.commands.pins import Pin, Unpin
from ..answer import Answer
from ..authentication import Viewer
from ..house import House
from ..routing import api
from ..showing import answer_with

WRITE = ("write:accounts",)


@api.post("/api/v1/statuses/<id>/pin", auth="user", scopes=WRITE)
async def pin(house: House, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Pin(id))
    return await answer_with(house, viewer, id)


@api.post("/api/v1/statuses/<id>/unpin", auth="user", scopes=WRITE)
async def unpin(house: House, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Unpin(id))
    return await answer_with(house, viewer, id)
