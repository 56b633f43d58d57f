"""Create, Update and Delete: of posts, and of other objects with these activities.

A Create may be a vote in a poll of this server. An Update may be of a poll's counts or of the actor itself, and NodeBB
sends an Update to a Tombstone for a deletion. A Delete may revoke the permission to quote a post, or delete the actor
itself; an object that is deleted before it arrives is never stored. Moderators update groups, which are other actors of
their servers.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from datetime import timedelta
from unicodedata import normalize

from ....storage import quotes, statuses
from ....storage.engine.database import Connection
from ....storage.engine.json_values import JsonObject
from ....storage.federation import remote_statuses, tombstones
from ....storage.federation.remote_statuses import KnownStatus
from ...activitypub.notes import ReceivedNote, ReceivedVote, is_post, read_vote
from ...activitypub.vocabulary import host_of, objects_of, same_host, types_of, uri_of
from ...commands.account_deletions import DeleteAccount
from ...commands.polls import Vote
from ...commands.quotes import RevokeQuote
from ...commands.received_statuses import ReceiveEdit
from ...commands.statuses import DeleteStatus
from ..actor_documents import is_actor
from ..inbox_context import Activity, InboxContext
from ..notes import note_of, store_read_note
from ..quotes import is_authorized


async def create(inbox: InboxContext, activity: Activity) -> None:
    """Store a new post or a vote. An embedded object is trusted if it is the actor's own, on the actor's server."""
    embedded = objects_of(activity.document.get("object"))
    if not embedded and activity.object_uri is not None and same_host(activity.object_uri, activity.actor.uri):
        embedded = [await inbox.fetcher.fetch(activity.object_uri)]
    for document in embedded:
        vote = read_vote(document)
        if (vote is None or not await _cast_vote(inbox, activity, vote)) and is_post(document):
            await store(inbox, activity, document)


async def store(inbox: InboxContext, activity: Activity, document: JsonObject) -> int | None:
    """Store a post of the actor, if it concerns an account here. The posts above it are fetched in the background."""
    note = await note_of(inbox.shared, document, activity.actor)
    id = await store_read_note(
        inbox.runtime, note, activity.actor, wanted=False, recipient=activity.recipient,
        authorized=note is not None and await is_authorized(inbox, note), origin=activity.origin,
    )  # fmt: skip
    if id is not None:
        await _find_parents(inbox, document)
        if note is not None:
            await inbox.resolver.find_parts(note)
    return id


async def _find_parents(inbox: InboxContext, document: JsonObject) -> None:
    """Fetch in the background the posts above a post, if its parent is not stored here."""
    uri, parent = uri_of(document), uri_of(document.get("inReplyTo"))
    if uri is None or parent is None or inbox.names.is_local(parent):
        return
    if await inbox.status(parent) is None:
        inbox.resolver.find_parents_later(uri)


async def _cast_vote(inbox: InboxContext, activity: Activity, vote: ReceivedVote) -> bool:
    """Vote for the option with the text of the vote. Return False if the poll or the option does not exist.

    Other servers send a vote for each choice, also after the end of the poll.
    """
    if vote.author != activity.actor.uri or not same_host(vote.uri, vote.author):
        return False
    known = await inbox.status(vote.poll_uri) if inbox.names.is_local(vote.poll_uri) else None
    status = None if known is None else await inbox.shared.database.read(statuses.find, known.id)
    if status is None or status.poll is None:
        return False
    choice = _position_of(vote.option, [option.title for option in status.poll.options])
    if choice is None:
        return False
    await inbox.ask(activity.actor.id, Vote(status.id, status.poll.id, (choice,), vote.uri), activity.origin)
    return True


def _position_of(named: str, titles: Sequence[str]) -> int | None:
    """Return the position of an option, also if another server has cut spaces or composed letters in another way."""
    for spelled in (str, str.strip, _folded, _decoded):
        spellings = [spelled(title) for title in titles]
        if spelled(named) in spellings:
            return spellings.index(spelled(named))
    return None


def _folded(title: str) -> str:
    return " ".join(normalize("NFC", title).split())


def _decoded(title: str) -> str:
    """Return an option that another server has written as HTML."""
    return _folded(html.unescape(title))


# An unknown post that is older is not stored on an Update: its Create arrived long ago, and concerned no account here.
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
    elif is_actor(document) and (account := await inbox.stored_account(uri)) is not None:
        await inbox.resolver.refresh(account, has_changed=True)


async def change(inbox: InboxContext, activity: Activity, document: JsonObject) -> None:
    """Apply a later state of a post. If its Create has not arrived yet, the post is stored."""
    note = await note_of(inbox.shared, document, activity.actor)
    if note is None:
        return
    known = await inbox.status(note.uri)
    if known is None and note.created_at + NEW_FOR > inbox.shared.clock.now():
        await store(inbox, activity, document)
        known = await inbox.status(note.uri)  # the Create may have arrived just before: then the edit must be applied
    if known is None:
        return
    authorized = await _has_same_quote(inbox, known, note) or await is_authorized(inbox, note)
    await inbox.ask(activity.actor.id, ReceiveEdit(note, authorized), activity.origin)
    await inbox.resolver.find_parts(note)


async def _has_same_quote(inbox: InboxContext, known: KnownStatus, note: ReceivedNote) -> bool:
    """True if quote and QuoteAuthorization of a status are unchanged, so that nothing is fetched again."""
    quote = note.quote
    if quote is None or quote.authorization is None:
        return False
    before, quoted = await inbox.shared.database.read(statuses.find, known.id), await inbox.status(quote.uri)
    if before is None or quoted is None or before.quote_state != "accepted":
        return False
    return before.quote_of_id == quoted.id and before.quote_approval_uri == quote.authorization


async def delete(inbox: InboxContext, activity: Activity) -> None:
    """Delete an object of the actor. Servers name it by its URI or by a Tombstone, or embed it as it was."""
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
    """Store a tombstone, and return the status if it is here. A Create is applied before this, or dropped after it.

    An attacker can delete any number of objects that never existed: if there are too many of a domain, their tombstones
    are deleted after some hours.
    """
    now = inbox.shared.clock.now()
    await tombstones.lock(db, [uri])
    known = await remote_statuses.find(db, uri)
    is_for_good = known is not None or inbox.shared.quotas.take("tombstones", host_of(uri) or "")
    await tombstones.insert(db, uri, by, now, None if is_for_good else now + tombstones.KEPT_FOR)
    return known
