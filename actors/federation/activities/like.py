"""Like: a favourite. One with a `content`, an emoji that other servers show as a reaction, is one too."""

from __future__ import annotations

from ...commands.favourites import Favourite
from ..receiving import Activity, InboxContext


async def like(inbox: InboxContext, activity: Activity) -> None:
    status = await inbox.status(activity.object_uri)
    if status is not None:
        await inbox.ask(activity.actor.id, Favourite(status.id, activity.id), activity.origin)
