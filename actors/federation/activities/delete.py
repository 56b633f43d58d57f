"""Delete: of a post, of the permission to quote one, or of the actor itself.

What has not come yet is not stored when it comes.
"""

from __future__ import annotations

from ....storage import quotes, remote_statuses, tombstones
from ....storage.engine.database import Connection
from ....storage.remote_statuses import KnownStatus
from ...activitypub.vocabulary import host_of, same_host
from ...commands.account_deletions import DeleteAccount
from ...commands.quotes import RevokeQuote
from ...commands.statuses import DeleteStatus
from ..receiving import Activity, InboxContext


async def delete(inbox: InboxContext, activity: Activity) -> None:
    """Delete what is the actor's own. Servers name it by its URI, by a Tombstone, or embed it as it was."""
    uri = activity.object_uri
    if uri is None or not same_host(uri, activity.actor.uri):
        return
    if uri == activity.actor.uri:
        await inbox.ask(activity.actor.id, DeleteAccount(), activity.origin)
        return
    await delete_status(inbox, activity, uri)


async def delete_status(inbox: InboxContext, activity: Activity, uri: str) -> None:
    approved = await inbox.shared.database.read(quotes.find_approved, uri, activity.actor.id)
    if approved is not None:
        quoting_id, quoted_id = approved
        await inbox.ask(activity.actor.id, RevokeQuote(quoted_id, quoting_id), activity.origin)
        return
    known = await inbox.shared.database.transact(_note_deletion, inbox, uri, activity.actor.uri)
    if known is not None and known.account_id == activity.actor.id and not known.deleted:
        await inbox.ask(activity.actor.id, DeleteStatus(known.id, delete_media=True), activity.origin)


async def _note_deletion(db: Connection, inbox: InboxContext, uri: str, by: str) -> KnownStatus | None:
    """Remember the deletion, and return what is here. A Create comes before, and is found, or after, and is dropped.

    An attacker can delete any number of things that never were: too many such deletions of a domain are remembered for
    some hours alone.
    """
    now = inbox.shared.clock.now()
    await tombstones.lock(db, [uri])
    known = await remote_statuses.find(db, uri)
    is_for_good = known is not None or inbox.shared.quotas.take("tombstones", host_of(uri) or "")
    await tombstones.insert(db, uri, by, now, None if is_for_good else now + tombstones.KEPT_FOR)
    return known
