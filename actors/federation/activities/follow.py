"""Follow: of an account of this server."""

from __future__ import annotations

from ....storage import received_activities
from ...commands.relations import Follow
from ..receiving import Activity, InboxContext


async def follow(inbox: InboxContext, activity: Activity) -> None:
    """Follow, or ask to. One that comes again has the URI that its answer must name."""
    target = await inbox.local_account_id(activity.object_uri)
    if target is not None:
        if activity.id is not None:
            mark = mark_of(activity.actor.uri, activity.id)
            await inbox.shared.database.transact(received_activities.insert, mark, inbox.shared.clock.now())
        await inbox.ask(activity.actor.id, Follow(target, uri=activity.id), activity.origin)


def mark_of(actor_uri: str, follow_uri: str) -> bytes:
    """Return what says that a Follow of an actor has come."""
    return received_activities.digest_of(actor_uri, follow_uri, "Follow")
