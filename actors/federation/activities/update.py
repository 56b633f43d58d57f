"""Update: of a post, of the counts of a poll, or of the actor itself.

NodeBB tells of a deletion by an Update to a Tombstone.
"""

from __future__ import annotations

from datetime import timedelta

from ....storage import statuses
from ....storage.engine.json_values import JsonObject
from ....storage.remote_statuses import KnownStatus
from ...activitypub.notes import ReceivedNote, is_post
from ...activitypub.vocabulary import same_host, types_of
from ...commands.received_statuses import ReceiveEdit
from ..notes import note_of
from ..quotes import is_authorized
from ..receiving import Activity, InboxContext
from .create import store
from .delete import delete_status

# An unknown post that is older is not stored: its Create came long ago, and concerned no account here.
NEW_FOR = timedelta(days=1)


async def update(inbox: InboxContext, activity: Activity) -> None:
    uri = activity.object_uri
    if uri is None or not same_host(uri, activity.actor.uri):
        return
    if uri == activity.actor.uri:
        await inbox.resolver.refresh(activity.actor, has_changed=True)
        return
    document = activity.object or await inbox.fetcher.fetch(uri)
    if is_post(document):
        await change(inbox, activity, document)
    elif "Tombstone" in types_of(document):
        await delete_status(inbox, activity, uri)


async def change(inbox: InboxContext, activity: Activity, document: JsonObject) -> None:
    """Change a post of the actor to a later state. One whose Create has not come yet is stored."""
    note = await note_of(inbox.shared, document, activity.actor)
    if note is None:
        return
    known = await inbox.status(note.uri)
    if known is None and note.created_at + NEW_FOR > inbox.shared.clock.now():
        await store(inbox, activity, document)
        known = await inbox.status(note.uri)  # its Create may have come just before: then it has to be changed
    if known is None:
        return
    authorized = await _is_shown(inbox, known, note) or await is_authorized(inbox, note)
    await inbox.ask(activity.actor.id, ReceiveEdit(note, authorized), activity.origin)
    await inbox.resolver.find_parts(note)


async def _is_shown(inbox: InboxContext, known: KnownStatus, note: ReceivedNote) -> bool:
    """True if a status quotes the same as before, by the same document, which need not be asked for again."""
    quote = note.quote
    if quote is None or quote.authorization is None:
        return False
    before, quoted = await inbox.shared.database.read(statuses.find, known.id), await inbox.status(quote.uri)
    if before is None or quoted is None or before.quote_state != "accepted":
        return False
    return before.quote_of_id == quoted.id and before.quote_approval_uri == quote.authorization
