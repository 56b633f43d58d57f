"""Move: of the actor, to another account that names the actor among its own earlier ones."""

from __future__ import annotations

from ...activitypub.vocabulary import uri_of
from ...commands.moves import Move
from ..receiving import Activity, InboxContext


async def move(inbox: InboxContext, activity: Activity) -> None:
    """Have followers here follow the new account. It is fetched anew: it must know of the old one now."""
    actor, target_uri = activity.actor, uri_of(activity.document.get("target"))
    if activity.object_uri != actor.uri or target_uri is None or target_uri == actor.uri:
        return
    target = await inbox.resolver.account(target_uri)
    if target is not None and not target.local:
        target = await inbox.resolver.refresh(target)
    if target is None or target.suspended_at is not None or target.moved_to_id is not None:
        return
    if actor.uri in target.also_known_as:
        await inbox.ask(actor.id, Move(target.id), activity.origin)
