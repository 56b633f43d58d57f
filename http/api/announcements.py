"""Announcements of the operator: listed, dismissed, and reacted to."""

from __future__ import annotations

from ...actors.commands.announcements import DismissAnnouncement, React, Unreact
from ...storage import announcements
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..entities.instance import announcement_fields
from ..router import api

REACTION = "/api/v1/announcements/<id>/reactions/<name>"
REACTING = ("write:favourites",)


@api.get("/api/v1/announcements", auth="user", returns="[Announcement]")
async def show(context: HttpContext, viewer: Viewer) -> Answer:
    """The current announcements, also if the viewer has dismissed them."""
    shown = await context.database.read(announcements.current, viewer.account_id, context.clock.now())
    emojis, base_url = context.rendered.emojis, context.settings.base_url
    return json([announcement_fields(announcement, emojis, base_url) for announcement in shown])


@api.post("/api/v1/announcements/<id>/dismiss", auth="user", scopes=("write:accounts",), returns="{}")
async def dismiss(viewer: Viewer, id: int) -> Answer:
    await viewer.ask(DismissAnnouncement(id))
    return json({})


@api.put(REACTION, auth="user", scopes=REACTING, returns="{}")
async def react(viewer: Viewer, id: int, name: str) -> Answer:
    await viewer.ask(React(id, name))
    return json({})


@api.delete(REACTION, auth="user", scopes=REACTING, returns="{}")
async def unreact(viewer: Viewer, id: int, name: str) -> Answer:
    await viewer.ask(Unreact(id, name))
    return json({})
