"""Add and Remove: what the actor shows first on its profile."""

from __future__ import annotations

from ...activitypub.vocabulary import same_host, uri_of
from ...commands.pins import Pin, Unpin
from ..receiving import Activity, InboxContext


async def add(inbox: InboxContext, activity: Activity) -> None:
    uri = _pinned(activity)
    known = await inbox.status(uri)
    status_id = None if uri is None else known.id if known is not None else await inbox.resolver.status(uri)
    if status_id is not None:
        await inbox.ask(activity.actor.id, Pin(status_id), activity.origin)


async def remove(inbox: InboxContext, activity: Activity) -> None:
    known = await inbox.status(_pinned(activity))
    if known is not None:
        await inbox.ask(activity.actor.id, Unpin(known.id), activity.origin)


def _pinned(activity: Activity) -> str | None:
    """Return the post, if it is the actor's server's, and goes to the actor's own collection of pinned posts."""
    uri, target = activity.object_uri, uri_of(activity.document.get("target"))
    if uri is None or target is None or target != activity.actor.featured_url or "Hashtag" in activity.object_types:
        return None
    return uri if same_host(uri, activity.actor.uri) else None
