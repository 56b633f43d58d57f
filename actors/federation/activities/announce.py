"""Announce: a boost of a status, which is fetched if it is not here.

Groups announce what their members do too (FEP-1b12). These activities are looked at where their objects are.
"""

from __future__ import annotations

from ....storage import remote_statuses
from ....storage.engine.json_values import JsonObject
from ...activitypub.notes import EARLIEST, is_post, time_of, visibility_of
from ...activitypub.vocabulary import types_of, uri_of
from ...commands.reblogs import Reblog, Unreblog
from ..receiving import Activity, InboxContext
from .passed_on import follow_up


async def announce(inbox: InboxContext, activity: Activity) -> None:
    uri, embedded = activity.object_uri, activity.object
    if embedded is not None and not is_post(embedded):
        await _withdraw(inbox, activity, embedded)
        await follow_up(inbox, embedded, activity.origin)
        return
    if uri is None:
        return
    status_id = await _status_id(inbox, activity, uri)
    if status_id is None:
        return
    now = inbox.shared.clock.now()
    visibility = visibility_of(activity.document, activity.actor.followers_url)
    published = min(max(time_of(activity.document.get("published")) or now, EARLIEST), now)
    uri = activity.id or f"{activity.actor.uri}#boosts/{status_id}"
    await inbox.ask(activity.actor.id, Reblog(status_id, visibility, uri, published), activity.origin)


async def _withdraw(inbox: InboxContext, activity: Activity, embedded: JsonObject) -> None:
    """End the boost of a post whose deletion the actor announces: a moderator has removed it from the group."""
    known = await inbox.status(uri_of(embedded.get("object"))) if "Delete" in types_of(embedded) else None
    if known is not None:
        await inbox.ask(activity.actor.id, Unreblog(known.id), activity.origin)


async def _status_id(inbox: InboxContext, activity: Activity, uri: str) -> int | None:
    """Return the boosted status, which is fetched if need be. Boosts by accounts without followers here are not shown,
    except of statuses of this server.
    """
    known = await inbox.status(uri)
    if inbox.names.is_local(uri):
        return None if known is None else known.id
    followed = await inbox.shared.database.read(remote_statuses.has_local_followers, [activity.actor.id])
    if not followed or inbox.standing_of(uri).suspended:
        return None
    return known.id if known is not None else await inbox.resolver.status(uri)
