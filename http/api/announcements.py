"""Announcements. They cannot be made yet, so there are none to read, dismiss or react to."""

from __future__ import annotations

from ..access.authentication import Viewer
from ..answers.answer import Answer, array
from ..answers.errors import NotFound
from ..router import api

REACTION = "/api/v1/announcements/<id>/reactions/<name>"


@api.get("/api/v1/announcements", auth="user")
def show(viewer: Viewer) -> Answer:
    return array([])


@api.post("/api/v1/announcements/<id>/dismiss", auth="user", scopes=("write:accounts",))
def dismiss(viewer: Viewer, id: int) -> Answer:
    raise NotFound


@api.put(REACTION, auth="user", scopes=("write:favourites",))
@api.delete(REACTION, auth="user", scopes=("write:favourites",))
def react(viewer: Viewer, id: int, name: str) -> Answer:
    raise NotFound
