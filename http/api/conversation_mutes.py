"""Muting the conversation that a status is in."""

from __future__ import annotations

from ...actors.commands.conversation_mutes import MuteConversation, UnmuteConversation
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..router import api
from ..views.statuses import answer_with

WRITE = ("write:mutes",)


@api.post("/api/v1/statuses/<id>/mute", auth="user", scopes=WRITE, returns="Status")
async def mute_conversation(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(MuteConversation(id))
    return await answer_with(context, viewer, id)


@api.post("/api/v1/statuses/<id>/unmute", auth="user", scopes=WRITE, returns="Status")
async def unmute_conversation(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(UnmuteConversation(id))
    return await answer_with(context, viewer, id)
