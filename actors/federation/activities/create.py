"""Create: of a post, or of a vote in a poll of this server."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import normalize

from ....storage import statuses
from ....storage.engine.json_values import JsonObject
from ...activitypub.notes import ReceivedVote, is_post, read_vote
from ...activitypub.vocabulary import objects_of, same_host, uri_of
from ...commands.polls import Vote
from ..notes import keep_note, note_of
from ..quotes import is_authorized
from ..receiving import Activity, InboxContext


async def create(inbox: InboxContext, activity: Activity) -> None:
    """Store what is new. What is embedded is believed if it is the actor's own, on the actor's server."""
    embedded = objects_of(activity.document.get("object"))
    if not embedded and activity.object_uri is not None and same_host(activity.object_uri, activity.actor.uri):
        embedded = [await inbox.fetcher.fetch(activity.object_uri)]
    for document in embedded:
        vote = read_vote(document)
        if (vote is None or not await _is_cast(inbox, activity, vote)) and is_post(document):
            await store(inbox, activity, document)


async def store(inbox: InboxContext, activity: Activity, document: JsonObject) -> int | None:
    """Store a post of the actor, if it concerns an account here. The posts that it answers are fetched afterwards."""
    note = await note_of(inbox.shared, document, activity.actor)
    id = await keep_note(
        inbox.runtime, note, activity.actor, wanted=False, recipient=activity.recipient,
        authorized=note is not None and await is_authorized(inbox, note), origin=activity.origin,
    )  # fmt: skip
    if id is not None:
        await _find_parents(inbox, document)
        if note is not None:
            await inbox.resolver.find_parts(note)
    return id


async def _find_parents(inbox: InboxContext, document: JsonObject) -> None:
    """Have what a post answers fetched afterwards, if it is not here."""
    uri, parent = uri_of(document), uri_of(document.get("inReplyTo"))
    if uri is None or parent is None or inbox.names.is_local(parent):
        return
    if await inbox.status(parent) is None:
        inbox.resolver.find_parents_later(uri)


async def _is_cast(inbox: InboxContext, activity: Activity, vote: ReceivedVote) -> bool:
    """Choose the option with this text. False if there is none, or no such poll here.

    Other servers send each choice by itself, and also those that come too late.
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
    for spelled in (str, str.strip, _folded):
        spellings = [spelled(title) for title in titles]
        if spelled(named) in spellings:
            return spellings.index(spelled(named))
    return None


def _folded(title: str) -> str:
    return " ".join(normalize("NFC", title).split())
