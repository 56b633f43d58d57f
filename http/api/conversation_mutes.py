"""Muting the conversation that a status is in."""

from __future__ import annotations

from ...actors.commands.conversation_mutes import MuteConversation, UnmuteConversation
from ..answer import Answer
from ..authentication import Viewer
from ..house import House
from ..routing import api
from ..showing import answer_with

WRITE = ("write:mutes",)


@api.post("/api/v1/statuses/<id>/mute", auth="user", scopes=WRITE)
async def mute_conversation(house: House, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(MuteConversation(id))
    return await answer_with(house, viewer, id)


@api.post("/api/v1/statuses/<id>/unmute", auth="user", scopes=WRITE)
async def unmute_conversation(house: House, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(UnmuteConversation(id))
    return await answer_with(house, viewer, id)
