"""Stores posts of other servers, by a command to their author's account."""

from __future__ import annotations

from dataclasses import replace

import trio

from ...storage.accounts import Account
from ...storage.engine.json_values import JsonObject, is_list, is_object
from ..activitypub.notes import ReceivedNote, read_note, read_vote, says_nothing
from ..activitypub.vocabulary import same_host
from ..broadcast.broadcast import account_address
from ..commands.received_statuses import ReceiveStatus
from ..context import ActorContext
from ..kernel import NOWHERE, Origin, Runtime

# Characters of a document beyond which it is read in a thread: the largest text and a hundred of the longest hashtags
# together take a twelfth of a second. Each element of a list or an object counts as `ELEMENT` more.
LARGE_NOTE = 32 * 1024
ELEMENT = 1024


async def store_note(
    context: ActorContext, runtime: Runtime, document: JsonObject, author: Account, *, wanted: bool,
    recipient: int | None = None, authorized: bool = False, origin: Origin = NOWHERE,
) -> int | None:  # fmt: skip
    """Store a post of an author whose server has sent its document or answered with it. Return its id.

    None if it is no post of this author, was deleted, or concerns no account here and is not `wanted`. `recipient` is
    the local account whose own inbox received it. `authorized` is True if its quote is allowed.
    """
    note = await note_of(context, document, author)
    return await store_read_note(
        runtime, note, author, wanted=wanted, recipient=recipient, authorized=authorized, origin=origin
    )


async def store_read_note(
    runtime: Runtime, note: ReceivedNote | None, author: Account, *, wanted: bool,
    recipient: int | None = None, authorized: bool = False, news: bool = True, origin: Origin = NOWHERE,
) -> int | None:  # fmt: skip
    """Store a post that was read already, as `store_note` does: reading may take long.

    A post that is no `news` gets the place of its own time, without notifications, and streams don't show it.
    """
    if note is None:
        return None
    return await runtime.ask(
        account_address(author.id), ReceiveStatus(note, wanted, recipient, authorized, news), origin=origin
    )


async def note_of(context: ActorContext, document: JsonObject, author: Account) -> ReceivedNote | None:
    """Return the post of a document if it belongs to its author: it is of the author's server, and names the author."""
    if read_vote(document) is not None and says_nothing(document):  # a vote is no post
        return None
    given = document, author.followers_url, context.clock.now()
    large = sum(map(_weight, document.values())) > LARGE_NOTE
    note = await trio.to_thread.run_sync(read_note, *given) if large else read_note(*given)
    if note is None or author.local or note.author != author.uri or not same_host(note.uri, author.uri):
        return None
    rejects_media = context.blocks.domains.standing_of(author.domain or "").rejects_media
    return replace(note, attachments=(), emojis=()) if rejects_media else note


def _weight(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    if is_object(value):
        return sum(ELEMENT + (len(item) if isinstance(item, str) else 0) for item in value.values())
    return ELEMENT * len(value) if is_list(value) else 0
