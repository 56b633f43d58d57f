"""Follow: of an account of this server."""

from __future__ import annotations

from ...commands.relations import Follow
from ..receiving import Activity, InboxContext


async def follow(inbox: InboxContext, activity: Activity) -> None:
    """Follow, or ask to. One that comes again has the URI that its answer must name."""
    target = await inbox.local_account_id(activity.object_uri)
    if target is not None:
        await inbox.ask(activity.actor.id, Follow(target, uri=activity.id), activity.origin)
