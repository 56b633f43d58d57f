"""Update: of a post, of the counts of a poll, or of the actor itself."""

from __future__ import annotations

from datetime import timedelta

from ....storage.engine.json_values import JsonObject
from ...activitypub.notes import is_post
from ...activitypub.vocabulary import same_host
from ...commands.received_statuses import ReceiveEdit
from ..notes import note_of
from ..receiving import Activity, InboxContext
from .create import store

# An unknown post that is older is not stored: its Create came long ago, and concerned nobody here.
NEW_FOR = timedelta(days=1)


async def update(inbox: InboxContext, activity: Activity) -> None:
    uri = activity.object_uri
    if uri is None or not same_host(uri, activity.actor.uri):
        return
    if uri == activity.actor.uri:
        await inbox.resolver.refresh(activity.actor)
        return
    document = activity.object or await inbox.fetcher.fetch(uri)
    if is_post(document):
        await change(inbox, activity, document)


async def change(inbox: InboxContext, activity: Activity, document: JsonObject) -> None:
    """Change a post of the actor to a later state. One whose Create has not come yet is stored."""
    note = note_of(inbox.shared, document, activity.actor)
    if note is None:
        return
    if await inbox.status(note.uri) is None:
        if note.created_at + NEW_FOR > inbox.shared.clock.now():
            await store(inbox, activity, document)
        return
    await inbox.ask(activity.actor.id, ReceiveEdit(note), activity.origin)
