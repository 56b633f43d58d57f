"""Statuses of other servers, in the turn of their author, and the edits of them.

A status is stored if it concerns an account here, or if it was asked for. Any order of arrival has the same result: a
status that was deleted before it came is not stored, and replies that came before their parent are joined to it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from zlib import crc32

from ...storage import accounts, media, polls, quotes, relations, statuses, strikes, tags
from ...storage.edits import Revision, keep_first, thin_out
from ...storage.engine.database import Connection
from ...storage.federation import remote_statuses, tombstones
from ...storage.federation.remote_statuses import Arrival, Placeholder, RemoteAttachment
from ...storage.notifications import NewNotification
from ...storage.polls import NewPoll, Option, Poll
from ...storage.statuses import NewStatus, Status, StatusTag
from ..account import AccountActor, AccountChange
from ..activitypub.notes import ReceivedAttachment, ReceivedNote, ReceivedPoll
from ..activitypub.vocabulary import host_of
from ..effects.polls import forget_poll, poll_ends
from ..kernel import Command, first_id_at, turn
from ..memory.daily_quotas import MOST_REVISIONS
from ..remote_emojis import put_emojis
from ..shown.statuses import LATE, ShownStatus
from .edits import SHORTEST, Description, show_again, store_revision
from .received_quotes import ENDED, AdmittedQuote, change_quote, received_quote
from .statuses import add_to_conversations, news_of, promise_created, publish_created

# Other servers add it for readers that show no quotes.
QUOTE_LINE = re.compile(r'<p class="quote-inline">.*?</p>', re.DOTALL)


@dataclass(frozen=True, slots=True)
class ReceiveStatus(Command[int | None]):
    """Command to an account of another server: store a status of it.

    The answer is its id, also if it was known; None if it was deleted, or if it concerns no account here and is not
    `wanted`. A `recipient` is the local account whose own inbox it came to. With `authorized` the author of the
    quoted status, on another server, has allowed the quote. Without `news` it is added at its time, without an event.
    """

    note: ReceivedNote
    wanted: bool = False
    recipient: int | None = None
    authorized: bool = False
    news: bool = True


@dataclass(frozen=True, slots=True)
class ReceiveEdit(Command[None]):
    """Command to an account of another server: change a status of it to a later state.

    A document that its server has `sent` is a later state if it differs, unless its time is older. A fetched document
    may come from a cache, so it needs a later time. A document that is no later state still updates the counts of the
    poll and the quote policy. With `authorized` the author of the quoted status, on another server, has allowed the
    quote.
    """

    note: ReceivedNote
    authorized: bool = False
    sent: bool = True


@dataclass(frozen=True, slots=True)
class Addressed:
    """The addressees of a status that are known here."""

    mentioned: tuple[int, ...]
    silent: tuple[int, ...]

    @property
    def everybody(self) -> tuple[int, ...]:
        return self.mentioned + self.silent


@turn(AccountActor, ReceiveStatus)
async def receive_status(account: AccountActor, message: ReceiveStatus) -> int | None:
    author = await account.context.accounts.find(account.id)
    if author is None or author.local or author.deleted_at is not None or author.suspended_at is not None:
        return None
    return await account.change(_receive, author, message)


@turn(AccountActor, ReceiveEdit)
async def receive_edit(account: AccountActor, message: ReceiveEdit) -> None:
    await account.change(_edit, message)


async def _receive(change: AccountChange, author: accounts.Account, message: ReceiveStatus) -> int | None:
    db, account, note = change.db, change.account, message.note
    # Activities come in any order: a deletion of this status and a reply to its parent take turns with it, so that each
    # finds the rows of the other.
    await tombstones.lock(db, [note.uri, *([note.in_reply_to] if note.in_reply_to else [])])
    here = await remote_statuses.arriving(db, note.uri, account.id, change.now)
    if (known := here.known) is not None:
        return None if known.deleted or known.account_id != account.id else known.id
    if here.is_deleted:
        return None
    parent = await _parent(db, note)
    to = await _addressed(db, account, note, message.recipient)
    if not message.wanted and not here.is_followed and not await _concerns_somebody(db, to, parent):
        return None
    return await _store(change, author, message, here, parent, to)


async def _store(
    change: AccountChange, author: accounts.Account, message: ReceiveStatus, here: Arrival, parent: Status | None,
    to: Addressed,
) -> int:  # fmt: skip
    db, account, now, note = change.db, change.account, change.now, message.note
    emoji_ids = await _put_emojis(db, account, author, note, now)
    attachments = _attachments(account, note.attachments)
    await remote_statuses.insert_attachments(db, attachments, now)
    quote = await received_quote(change, note.quote, authorized=message.authorized)
    place = None
    if note.in_reply_to is not None and parent is None:
        place = await remote_statuses.placeholder_of(db, note.in_reply_to)
    new = NewStatus(
        id=await _id_for(db, account, note, now, news=message.news),
        account_id=account.id,
        uri=note.uri,
        url=note.url,
        visibility=note.visibility,
        content=note.content,
        content_type="text/html",
        spoiler_text=note.spoiler_text,
        sensitive=note.sensitive,
        language=note.language,
        in_reply_to_id=_parent_id(account, note, parent, place),
        in_reply_to_account_id=parent.account_id if parent else None,
        media_ids=tuple(file.id for file in attachments),
        mentioned_ids=to.everybody,
        silent_mention_ids=to.silent,
        tags=await _tags(db, account, note),
        quote_of_id=quote.quoted.id if quote else None,
        quote_state=quote.state if quote else None,
        quote_policy=note.quote_policy,
        poll_id=await _insert_poll(db, account, note.poll, now),
        local=False,
        created_at=note.created_at,
        emoji_ids=emoji_ids,
    )
    made = await statuses.insert(db, new, now)
    status = made.status
    if note.in_reply_to is not None and parent is None:
        await remote_statuses.set_parent_uri(db, status.id, note.in_reply_to, place.conversation_id if place else None)
    if quote is not None and quote.approval_uri is not None:
        await quotes.set_approval(db, status.id, quote.approval_uri)
        status = replace(status, quote_approval_uri=quote.approval_uri)
    if note.quote_manual_policy != "nobody":
        await remote_statuses.set_manual_policy(db, status.id, note.quote_manual_policy)
        status = replace(status, quote_manual_policy=note.quote_manual_policy)
    if note.updated_at is not None and note.updated_at > note.created_at:
        await remote_statuses.set_edited(db, status.id, note.updated_at)
        status = replace(status, edited_at=note.updated_at)
    joined: list[int] = []
    if here.has_replies:
        joined = await remote_statuses.join_replies(db, note.uri, status.id, account.id, status.conversation_id)
    if joined and (joined_to := await statuses.find(db, status.id)) is not None:
        status = joined_to
    is_old = message.wanted and note.created_at + LATE <= now  # and was fetched, perhaps with a thread
    news = [] if is_old or not message.news else news_of(account, new, made, quote.quoted if quote else None)
    publish_created(change, ShownStatus(status, made.author), news=message.news)
    promise_created(change, status)
    added = await change.notify(*news)
    await add_to_conversations(change, status, [row.account_id for row in added if row.type == "mention"])
    change.count_again(*joined)
    return status.id


async def _parent(db: Connection, note: ReceivedNote) -> Status | None:
    """Return the status that a note answers. A reply to a boost answers the boosted status."""
    known = None if note.in_reply_to is None else await remote_statuses.find(db, note.in_reply_to)
    if known is None:
        return None
    parent = (await statuses.find_stored(db, [known.id])).get(known.id)
    if parent is None or (boosted := parent.reblog_of_id) is None:
        return parent
    return (await statuses.find_stored(db, [boosted])).get(boosted)


def _parent_id(
    account: AccountActor, note: ReceivedNote, parent: Status | None, place: Placeholder | None
) -> int | None:
    """Return the parent's id. For an unknown parent it is a new id under which nothing is stored."""
    if parent is not None:
        return parent.id
    if note.in_reply_to is None:
        return None
    return account.context.ids.next() if place is None else place.id


async def _addressed(db: Connection, account: AccountActor, note: ReceivedNote, recipient: int | None) -> Addressed:
    """Return the known accounts. The recipient, by its own inbox, may see the status although it is not addressed.

    A follower who is named in a status to followers is mentioned, also if it is addressed to their collection alone.
    """
    named = note.named if note.visibility == "private" else ()
    ids = await remote_statuses.account_ids(db, [*note.mentioned, *named, *note.silent])
    mentioned = tuple(dict.fromkeys(ids[uri] for uri in note.mentioned if uri in ids))
    if pairs := [(ids[uri], account.id) for uri in named if uri in ids]:
        found = await relations.find_relations(db, pairs)
        mentioned += tuple(pair[0] for pair in dict.fromkeys(pairs) if pair in found and found[pair].following)
    others = [ids[uri] for uri in note.silent if uri in ids]
    if recipient is not None and note.visibility in ("private", "direct"):
        others.append(recipient)
    return Addressed(mentioned, tuple(dict.fromkeys(id for id in others if id not in (*mentioned, account.id))))


async def _concerns_somebody(db: Connection, to: Addressed, parent: Status | None) -> bool:
    """True if an account here is addressed, or wrote the parent status or follows its author."""
    if parent is not None and (parent.local or await remote_statuses.has_local_followers(db, [parent.account_id])):
        return True
    return await remote_statuses.any_local(db, to.everybody)


async def _id_for(db: Connection, account: AccountActor, note: ReceivedNote, now: datetime, *, news: bool) -> int:
    """Return a fresh id. For a late status it is an id of its own time, for its place in timelines."""
    if news and note.created_at + LATE > now:
        return account.context.ids.next()
    # The lower bits come from the URI, because the times of other servers are often whole seconds.
    id = first_id_at(note.created_at) + crc32(note.uri.encode()) % (1 << 16)
    while await remote_statuses.is_taken(db, id):
        id += 1
    return id


async def _put_emojis(
    db: Connection, account: AccountActor, author: accounts.Account, note: ReceivedNote, now: datetime
) -> tuple[int, ...]:
    emojis = [(emoji.shortcode, emoji.url) for emoji in note.emojis]
    return await put_emojis(db, account.context, author.domain or "", emojis, now)


def _attachments(account: AccountActor, attachments: Sequence[ReceivedAttachment]) -> list[RemoteAttachment]:
    return [_attachment(account, file) for file in attachments]


def _attachment(account: AccountActor, attachment: ReceivedAttachment) -> RemoteAttachment:
    meta: dict[str, object] = {}
    if attachment.size is not None:
        width, height = attachment.size
        size = {"width": width, "height": height, "size": f"{width}x{height}", "aspect": width / height}
        meta["original"] = size
    if attachment.focus is not None:
        meta["focus"] = dict(zip(("x", "y"), attachment.focus, strict=True))
    return RemoteAttachment(
        account.context.ids.next(), account.id, attachment.type, attachment.media_type, attachment.url,
        attachment.thumbnail_url, attachment.description, attachment.blurhash, meta,
    )  # fmt: skip


async def _tags(db: Connection, account: AccountActor, note: ReceivedNote) -> tuple[StatusTag, ...]:
    """Return the known hashtags, and as many new hashtags as the author's domain may add today."""
    known = await tags.known_of(db, [tag.name for tag in note.hashtags]) if note.hashtags else set[str]()
    fresh = [tag.name for tag in note.hashtags if tag.name not in known]
    known.update(fresh[: account.context.quotas.take("hashtags", host_of(note.uri) or "", len(fresh))])
    ids = account.context.ids
    return tuple(StatusTag(ids.next(), tag.name, tag.display_name) for tag in note.hashtags if tag.name in known)


async def _insert_poll(
    db: Connection, account: AccountActor, received: ReceivedPoll | None, now: datetime
) -> int | None:
    if received is None:
        return None
    id = account.context.ids.next()
    await polls.insert(
        db, NewPoll(id, account.id, received.options, received.multiple, False, received.expires_at), now
    )
    await _tally(db, id, received, now)
    return id


async def _tally(db: Connection, poll_id: int, received: ReceivedPoll, now: datetime) -> None:
    await remote_statuses.tally(
        db, poll_id, received.votes, received.voters_count, received.expires_at, now, closed=received.closed
    )  # fmt: skip


# Edits ----------------------------------------------------------------------------------------------------------------


async def _edit(change: AccountChange, message: ReceiveEdit) -> None:
    """Change a status. A document without a newer edit updates only the parts that change without edits.

    Times alone do not decide: some servers write whole seconds, or the same time for every state. Of edits with the
    same time the last to arrive is the latest, because the activities of a sender are applied in their order.
    """
    db, account, now, note = change.db, change.account, change.now, message.note
    await tombstones.lock(db, [note.uri])
    quote = await received_quote(change, note.quote, authorized=message.authorized)
    known = await remote_statuses.find(db, note.uri)
    status = None if known is None else await statuses.lock_own(db, known.id, account.id)
    if status is None:
        return None
    reported, before = note.updated_at, await remote_statuses.told_edit(db, status.id, status.edited_at)
    is_older = reported is not None and before is not None and reported < before
    may_be_edit = message.sent or (reported is not None and reported > (before or status.created_at))
    if reported is not None and not is_older and reported != before:
        await remote_statuses.store_reported_edit(db, status.id, reported)
    hashtags = await _tags(db, account, note)
    if is_older or not may_be_edit or not await _is_changed(db, status, note, quote, hashtags):
        return await _refresh(change, status, note, quote, is_older=is_older)
    if reported is None:
        await remote_statuses.store_reported_edit(db, status.id, before)
    await keep_first(db, change.ids.next(), status.id)
    poll_id = await _change_poll(change, status.poll, note.poll)
    revision = await _revise(db, account, status, note, hashtags, poll_id, now)
    descriptions = _descriptions(status, note)
    latest = status.edited_at or status.created_at
    edited_at = reported if reported is not None and reported > latest else max(now, latest + SHORTEST)
    await store_revision(change, status, revision, descriptions, edited_at)
    await thin_out(db, status.id, MOST_REVISIONS)
    await _change_policies(db, account, status, note)
    if await change_quote(change, status, quote) is not None:
        await _publish_quote(change, status, quote)
    return None


async def _is_changed(
    db: Connection, status: Status, note: ReceivedNote, quote: AdmittedQuote | None, hashtags: Sequence[StatusTag]
) -> bool:
    """True if a note shows anything else than the status.

    Counts, policies and a quote that is new are no such thing; nor is its line in the text, for readers that show no
    quotes. Mentions are seen by the text.
    """
    return (
        QUOTE_LINE.sub("", note.content) != QUOTE_LINE.sub("", status.content)
        or note.spoiler_text != status.spoiler_text
        or note.language not in (None, status.language)
        or note.sensitive != (status.sensitive and not await _is_marked(db, status, note))
        or list(dict.fromkeys(file.url for file in note.attachments)) != [file.remote_url for file in status.media]
        or bool(_descriptions(status, note))
        or not _has_poll(status.poll, note.poll)
        or {tag.name for tag in hashtags} != {tag.name for tag in status.tags}
        or await _quotes_another(db, status, note, quote)
    )


async def _is_marked(db: Connection, status: Status, note: ReceivedNote) -> bool:
    """True if staff have marked a status as sensitive that its author has not."""
    return not note.sensitive and await strikes.is_marked(db, status.account_id, status.id)


def _has_poll(before: Poll | None, received: ReceivedPoll | None) -> bool:
    if before is None or received is None:
        return before is None and received is None
    return _asks_the_same(before, received)


async def _quotes_another(db: Connection, status: Status, note: ReceivedNote, quote: AdmittedQuote | None) -> bool:
    """True if the quote was removed or replaced."""
    if status.quote_of_id is None or status.quote_state in ENDED:
        return False
    if note.quote is None:
        return status.quote_state != "deleted"
    if quote is not None:
        return quote.quoted.id != status.quote_of_id
    quoted = await statuses.find(db, status.quote_of_id)
    return quoted is not None and note.quote.uri not in (quoted.uri, quoted.url)


async def _refresh(
    change: AccountChange, status: Status, note: ReceivedNote, quote: AdmittedQuote | None, *, is_older: bool
) -> None:
    """Change what servers change without an edit: the counts of a poll, who may quote, a quote that waits or is new.

    An older document updates only the counts: the rest has changed since.
    """
    change_id = None
    if not is_older:
        change_id = await _change_policies(change.db, change.account, status, note)
        if quote is not None and status.quote_of_id in (None, quote.quoted.id):
            change_id = await change_quote(change, status, quote) or change_id
        await show_again(change, status, change_id)
        if change_id is not None and quote is not None:
            if status.quote_of_id is None:
                await _publish_quote(change, status, quote)
            else:
                change.count_again(quote.quoted.id)
    if status.poll is not None and note.poll is not None and _asks_the_same(status.poll, note.poll):
        await _tally(change.db, status.poll.id, note.poll, change.now)
        change.count_again(status.id)


async def _change_policies(db: Connection, account: AccountActor, status: Status, note: ReceivedNote) -> int | None:
    """Store who may quote a locked status, and who may ask. Return the id of the change, None if nothing changes."""
    policies = (note.quote_policy, note.quote_manual_policy)
    if policies == (status.quote_policy, status.quote_manual_policy):
        return None
    change_id = account.context.ids.next()
    await remote_statuses.set_policies(db, status.id, *policies, change_id)
    return change_id


async def _publish_quote(change: AccountChange, status: Status, quote: AdmittedQuote | None) -> None:
    """Publish the new counts of the quoted statuses, and notify the author of a new quoted status."""
    change.count_again(*{status.quote_of_id, quote.quoted.id if quote is not None else None})
    if quote is not None and quote.state == "accepted":
        author = quote.quoted.account_id
        await change.notify(NewNotification(change.ids.next(), author, change.account.id, "quote", status.id))


async def _revise(
    db: Connection, account: AccountActor, status: Status, note: ReceivedNote, hashtags: tuple[StatusTag, ...],
    poll_id: int | None, now: datetime,
) -> Revision:  # fmt: skip
    to = await _addressed(db, account, note, None)
    earlier = tuple(id for id in status.mentioned_ids if id not in to.everybody)
    author = await accounts.find(db, account.id)
    emoji_ids = () if author is None else await _put_emojis(db, account, author, note, now)
    return Revision(
        status_id=status.id,
        text="",
        content=note.content,
        content_type="text/html",
        spoiler_text=note.spoiler_text,
        sensitive=note.sensitive,
        language=note.language or status.language,
        mentioned_ids=to.mentioned,
        silent_mention_ids=to.silent + earlier,
        tags=hashtags,
        media_ids=await _media_after(db, account, status, note, now),
        poll_id=poll_id,
        emoji_ids=emoji_ids,
    )


async def _media_after(
    db: Connection, account: AccountActor, status: Status, note: ReceivedNote, now: datetime
) -> tuple[int, ...]:
    """Return the attachments of the new state. Attachments with a known address stay."""
    there = {medium.remote_url: medium.id for medium in status.media}
    fresh = _attachments(account, [file for file in note.attachments if file.url not in there])
    await remote_statuses.insert_attachments(db, fresh, now)
    there |= {file.remote_url: file.id for file in fresh}
    ids = tuple(dict.fromkeys(there[file.url] for file in note.attachments))
    await media.lock(db, ids)
    return ids


def _descriptions(status: Status, note: ReceivedNote) -> list[Description]:
    """Return the new descriptions of attachments that stay."""
    received = {file.url: file for file in note.attachments}
    found: list[Description] = []
    for medium in status.media:
        if (file := received.get(medium.remote_url or "")) is not None:
            focus = None if file.focus is None else {"x": file.focus[0], "y": file.focus[1]}
            found.append(Description(medium.id, file.description, focus))
    return [new for new, medium in ((new, _medium(status, new.media_id)) for new in found) if new.changes(medium)]


def _medium(status: Status, id: int) -> media.Media | None:
    return next((medium for medium in status.media if medium.id == id), None)


async def _change_poll(change: AccountChange, before: Poll | None, received: ReceivedPoll | None) -> int | None:
    """Store the poll of the new state, with the reminder of its end. Return its id. Other options are another poll."""
    db, account, now = change.db, change.account, change.now
    if before is None:
        id = await _insert_poll(db, account, received, now)
    elif received is None:
        await forget_poll(db, before.id)
        await polls.delete(db, before.id)
        return None
    else:
        await forget_poll(db, before.id)
        options = tuple(Option(title, 0) for title in received.options)
        after = replace(before, multiple=received.multiple, expires_at=received.expires_at, options=options)
        await polls.change(db, after, reset=not _asks_the_same(before, received), now=now)
        await _tally(db, before.id, received, now)
        id = before.id
    if id is not None and received is not None and received.expires_at is not None:
        change.promise(poll_ends(id, account.id, received.expires_at))
    return id


def _asks_the_same(poll: Poll, received: ReceivedPoll) -> bool:
    """True if an edit keeps the votes. `edits.py` has the rule for polls of this server."""
    # Earlier versions cut the spaces around an option.
    before, after = [option.title.strip() for option in poll.options], [title.strip() for title in received.options]
    return poll.multiple == received.multiple and before == after
