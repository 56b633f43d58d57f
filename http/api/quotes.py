"""Quotes and translations: this server has neither yet, and says so as clients expect."""

from __future__ import annotations

from ..answer import Answer, array
from ..authentication import Viewer
from ..errors import NotFound
from ..house import House
from ..paging import Paged
from ..routing import api
from ..showing import find_visible

READ = ("read:statuses",)


@api.get("/api/v1/statuses/<id>/quotes", auth="user", scopes=READ)
async def show_quotes(house: House, viewer: Viewer, id: int, paged: Paged) -> Answer:
    """Nobody has quoted it."""
    await find_visible(house, viewer, id)
    return array([])


@api.post("/api/v1/statuses/<id>/quotes/<quoting_status_id>/revoke", auth="user", scopes=("write:statuses",))
async def revoke_quote(house: House, viewer: Viewer, id: int, quoting_status_id: int) -> Answer:
    await find_visible(house, viewer, id)
    raise NotFound


@api.post("/api/v1/statuses/<id>/translate", auth="user", scopes=READ)
async def translate(house: House, viewer: Viewer, id: int) -> Answer:
    """As the reference server without a translation service."""
    await find_visible(house, viewer, id)
    raise NotFound
