"""Activities of other actors than the sender: forwarded, or announced by a group (FEP-1b12).

Only the URI of the object is used: the object is fetched from its own server.
"""

from __future__ import annotations

from ....storage import statuses
from ....storage.engine.json_values import JsonObject
from ....storage.federation.remote_statuses import KnownStatus
from ...activitypub.vocabulary import object_of, same_host, types_of, uri_of
from ...kernel import Origin
from ..errors import DocumentGone, DocumentUnknown
from ..inbox_context import Activity, InboxContext
from .statuses import change, delete_status


async def fetch_forwarded(inbox: InboxContext, document: JsonObject, origin: Origin) -> None:
    """Fetch the object of an activity, if it is a stored post or a reply to a stored post."""
    uri, kinds = uri_of(document.get("object")), types_of(document)
    if uri is None or inbox.names.is_local(uri) or inbox.standing_of(uri).suspended:
        return
    known = await inbox.status(uri)
    if known is None and "Create" in kinds:
        embedded = object_of(document.get("object")) or {}
        if await inbox.status(uri_of(embedded.get("inReplyTo"))) is not None:
            await inbox.resolver.status(uri)
    elif known is not None and not {"Update", "Delete"}.isdisjoint(kinds):
        await _reread(inbox, uri, known, origin, is_deletion="Delete" in kinds)


async def _reread(
    inbox: InboxContext, uri: str, known: KnownStatus, origin: Origin, *, is_deletion: bool
) -> None:  # fmt: skip
    """Fetch a stored status from its server, and apply its present state."""
    author = (await inbox.shared.accounts.find_many([known.account_id])).get(known.account_id)
    if author is None or author.local or not same_host(uri, author.uri):
        return
    activity = Activity(author, {}, origin)
    try:
        document = await inbox.fetcher.fetch(uri)
    except DocumentGone:
        await delete_status(inbox, activity, uri)
        return
    except DocumentUnknown:
        if is_deletion and await _is_open(inbox, known):
            await delete_status(inbox, activity, uri)
        return
    if not is_deletion and uri_of(document) == uri:
        await change(inbox, activity, document)


async def _is_open(inbox: InboxContext, known: KnownStatus) -> bool:
    """True for a public or unlisted status: its server answers 404 only after its deletion."""
    status = await inbox.shared.database.read(statuses.find, known.id)
    return status is not None and status.visibility in ("public", "unlisted")
