"""Sends the Create, Update and Delete of statuses, and the Announce of boosts and its Undo."""

from __future__ import annotations

from dataclasses import replace

from ...storage import accounts, statuses
from ...storage.engine.database import Connection
from ...storage.engine.json_values import JsonObject
from ...storage.federation.activities import RemoteFollowers
from ...storage.statuses import InsertedStatus, Status
from ..account import AccountActor
from ..activitypub.documents import activities
from ..activitypub.documents.notes import References, audience_of, note_of
from ..context import ActorContext
from ..effects.deliveries import DELIVERIES
from ..promises import Promise
from ..shown.statuses import ShownStatus
from .delivery_promises import PreparedActivity, Recipients, deliver, deliver_to, find_inboxes, prepare, withdraw

OPEN = ("public", "unlisted")


async def send_status(db: Connection, account: AccountActor, made: InsertedStatus) -> list[Promise]:
    """Queue the Create of a new status for the servers that it concerns. Most local statuses concern none."""
    if not made.leaves:
        return []
    context, status = account.context, made.status
    found = await find_inboxes(db, context, account.id, await _readers_of(db, status))
    if not found:
        return []
    note = await _note(db, context, ShownStatus(status, made.author))
    return [
        *await deliver(db, context, account.id, activities.create_of(note), found, subject=status.uri),
        *await _send_quote_request(db, account, status, note),
    ]


def prepare_status(
    context: ActorContext, shown: ShownStatus, parent: Status | None, followers: RemoteFollowers
) -> PreparedActivity | None:
    """Return the activity for followers on other servers of a plain status that is not stored yet."""
    if not followers.inboxes or not context.outbox.executes(DELIVERIES):
        return None
    references = References(parent=None if parent is None else parent.uri)
    status, emojis = shown.status, context.custom_emojis.current
    note = note_of(shown, context.names, references, emojis, status.created_at)
    return prepare(context, status.account_id, activities.create_of(note), followers.inboxes, subject=status.uri)


async def _send_quote_request(
    db: Connection, account: AccountActor, status: Status, note: JsonObject
) -> list[Promise]:  # fmt: skip
    """Queue the QuoteRequest for the author of a status on another server."""
    if status.quote_state != "pending" or status.quote_of_id is None:
        return []
    quoted = await statuses.find(db, status.quote_of_id)
    author = None if quoted is None or quoted.local else await accounts.find(db, quoted.account_id)
    if quoted is None or author is None:
        return []
    names, name = account.context.names, account.owner.username
    id = names.activity(name, "quote_requests", status.id)
    request = activities.quote_request_of(id, names.actor(name), quoted.uri, note, author.uri)
    return await deliver_to(db, account.context, account.id, request, author.id, subject=status.uri)


async def send_edit(db: Connection, account: AccountActor, status_id: int) -> list[Promise]:
    """Queue the Update of a status, as its row is now, for the servers that have it."""
    return await send_update(db, account.context, status_id) if account.user is not None else []


async def send_update(db: Connection, context: ActorContext, status_id: int) -> list[Promise]:
    """Queue the Update of a local status, as its row is now, for the servers that have it."""
    status = await statuses.find(db, status_id)
    if status is None or not status.local or status.reblog_of_id is not None:
        return []
    recipients = await _readers_of(db, status)
    if status.visibility in OPEN:
        recipients = replace(recipients, interested_in=status.id)
    found = await find_inboxes(db, context, status.account_id, recipients)
    author = await accounts.find(db, status.account_id) if found else None
    if author is None:
        return []
    note = await _note(db, context, ShownStatus(status, author))
    update = activities.update_of(note, context.clock.now())
    return await deliver(db, context, author.id, update, found, subject=status.uri)


async def send_deletion(db: Connection, account: AccountActor, status: Status) -> list[Promise]:
    """Queue the Delete of a status, or the Undo of a boost, for the servers that have it.

    The rows of the status and of the interactions with it are not deleted yet. Pending deliveries of its Create are
    deleted, unless it was answered, boosted, favourited or quoted: another server may have fetched it because of that.
    """
    if account.user is None or not status.local:
        return []
    if status.reblog_of_id is not None:
        return await _send_unboost(db, account, status)
    context = account.context
    recipients = replace(await _readers_of(db, status), interested_in=status.id)
    found = await find_inboxes(db, context, account.id, recipients)
    author = await accounts.find(db, account.id) if found else None
    if found and not (status.replies_count or status.reblogs_count or status.favourites_count or status.quotes_count):
        found = await withdraw(db, account.id, status.uri, found)
    if author is None or not found:
        return []
    shown = ShownStatus(status, author)
    audience = audience_of(shown, context.names, await _references(db, context, shown))
    delete = activities.delete_of(author.uri, status.uri, audience.to, audience.cc)
    return await deliver(db, context, account.id, delete, found, urgent=True)


async def send_boost(db: Connection, account: AccountActor, made: InsertedStatus, original: Status) -> list[Promise]:
    """Queue the Announce of a boost for the account's followers and the author of the original."""
    if not made.leaves:
        return []
    return await _send_announce(db, account, made.status, original, undone=False)


async def _send_unboost(db: Connection, account: AccountActor, boost: Status) -> list[Promise]:
    found = await statuses.find_stored(db, [boost.reblog_of_id or 0])
    original = found.get(boost.reblog_of_id or 0)
    return [] if original is None else await _send_announce(db, account, boost, original, undone=True)


async def _send_announce(
    db: Connection, account: AccountActor, boost: Status, original: Status, *, undone: bool
) -> list[Promise]:
    context = account.context
    recipients = Recipients(followers=True, account_ids=(original.account_id,))
    found = await find_inboxes(db, context, account.id, recipients)
    people = await accounts.find_many(db, [account.id, original.account_id]) if found else {}
    if len(people) < len({account.id, original.account_id}):
        return []
    shown = ShownStatus(boost, people[account.id], ShownStatus(original, people[original.account_id]))
    announce = activities.announce_of(shown, context.names, References())
    if undone:
        found = await withdraw(db, account.id, boost.uri, found)
        return await deliver(db, context, account.id, activities.undo_of(announce), found, urgent=True)
    return await deliver(db, context, account.id, announce, found, subject=boost.uri)


async def _readers_of(db: Connection, status: Status) -> Recipients:
    """Return the recipients of a status: followers, mentioned accounts and, if it is open, the parent's and quoted
    authors."""
    authors = [status.in_reply_to_account_id] if status.visibility in OPEN else []
    if status.quote_of_id is not None and status.visibility in OPEN:
        quoted = await statuses.find(db, status.quote_of_id)
        authors += [quoted.account_id] if quoted is not None else []
    return Recipients(
        followers=status.visibility != "direct", mentioned_in=status.id,
        account_ids=tuple(id for id in authors if id is not None),
    )  # fmt: skip


async def _note(db: Connection, context: ActorContext, shown: ShownStatus) -> JsonObject:
    references = await _references(db, context, shown)
    return note_of(shown, context.names, references, context.custom_emojis.current, context.clock.now())


async def _references(db: Connection, context: ActorContext, shown: ShownStatus) -> References:
    """Return the URIs that the document of a status refers to, from the rows in this transaction."""
    status = shown.status
    people = await accounts.find_many(db, status.mentioned_ids) if status.mentioned_ids else {}
    others = [id for id in (status.in_reply_to_id, status.quote_of_id) if id is not None]
    found = await statuses.find_many(db, others) if others else {}
    parent, quoted = found.get(status.in_reply_to_id or 0), found.get(status.quote_of_id or 0)
    return References(
        people={account.id: account.uri for account in people.values()},
        parent=None if parent is None else parent.uri,
        quoted=None if quoted is None else quoted.uri,
        quoted_page=None if quoted is None else quoted.url,
        quote_authorization=None if quoted is None else await _authorization_of(db, context, status, quoted),
    )


async def _authorization_of(db: Connection, context: ActorContext, status: Status, quoted: Status) -> str | None:
    """Return the document that allows a quote of another author's status."""
    if status.quote_state != "accepted" or quoted.account_id == status.account_id or not quoted.local:
        return None
    author = await accounts.find(db, quoted.account_id)
    return None if author is None else context.names.quote_authorization(author.username, status.id)
