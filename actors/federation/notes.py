"""Storing posts of other servers: by a command to their author's account."""

from __future__ import annotations

from dataclasses import replace

from ...storage.accounts import Account
from ...storage.engine.json_values import JsonObject
from ..activitypub.notes import ReceivedNote, read_note, read_vote
from ..activitypub.vocabulary import same_host
from ..broadcast import account_address
from ..commands.received_statuses import ReceiveStatus
from ..context import ActorContext
from ..kernel import NOWHERE, Origin, Runtime


async def store_note(
    context: ActorContext, runtime: Runtime, document: JsonObject, author: Account, *, wanted: bool,
    recipient: int | None = None, authorized: bool = False, origin: Origin = NOWHERE,
) -> int | None:  # fmt: skip
    """Store a post of an author whose server has sent its document or answered with it. Return its id.

    None if it is no post of this author, was deleted, or concerns no account here and is not `wanted`. A `recipient` is
    the local account whose own inbox it came to. With `authorized` it may quote what it quotes.
    """
    note = note_of(context, document, author)
    if note is None:
        return None
    return await runtime.ask(
        account_address(author.id), ReceiveStatus(note, wanted, recipient, authorized), origin=origin
    )


def note_of(context: ActorContext, document: JsonObject, author: Account) -> ReceivedNote | None:
    """Return the post of a document if it belongs to its author: it is of the author's server, and names the author."""
    if read_vote(document) is not None:  # a vote is no post, wherever it comes from
        return None
    note = read_note(document, author.followers_url, context.clock.now())
    if note is None or author.local or note.author != author.uri or not same_host(note.uri, author.uri):
        return None
    rejects_media = context.blocks.domains.standing_of(author.domain or "").rejects_media
    return replace(note, attachments=(), emojis=()) if rejects_media else note
