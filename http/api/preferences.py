"""The viewer's preferences, read-only. They are changed by an account's `source`."""

from __future__ import annotations

from ...storage import users
from ..access.authentication import Viewer
from ..access.context import HttpContext, find_row
from ..answers.answer import Answer, json
from ..entities.account import preferences_fields
from ..router import api


@api.get("/api/v1/preferences", auth="user", scopes=("read:accounts",), returns="Preferences")
async def show(context: HttpContext, viewer: Viewer) -> Answer:
    user = await find_row(context, users.find_user, viewer.account_id)
    return json(preferences_fields(user))
