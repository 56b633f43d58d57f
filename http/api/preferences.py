"""The viewer's preferences, to read: they are written as an account's `source`."""

from __future__ import annotations

from ...storage import users
from ..answer import Answer, json
from ..authentication import Viewer
from ..entities.preferences import preferences_fields
from ..errors import NotFound
from ..house import House
from ..routing import api


@api.get("/api/v1/preferences", auth="user", scopes=("read:accounts",))
async def show(house: House, viewer: Viewer) -> Answer:
    user = await house.database.read(users.find_user, viewer.account_id)
    if user is None:
        raise NotFound
    return json(preferences_fields(user))
