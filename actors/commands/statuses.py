"""Publishing and deleting statuses, in the turn of their author.

A post that concerns followers alone is stored by one statement, with its idempotency key and its promises: one round
trip to PostgreSQL, without BEGIN and COMMIT. If followers are on other servers, their inboxes are read first, and the
statement also stores the activity and the promises of its deliveries. The statement stores nothing if the followers
have changed since, or if followers asked for every post. Then, and for all other posts, a transaction of several
statements stores the post.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from ...storage import (
    accounts,
    conversations,
    deletions,
    idempotency,
    media,
    notifications,
    polls,
    reports,
    scheduled_statuses,
    statuses,
)
from ...storage.engine.database import Connection
from ...storage.federation import remote_files
from ...storage.federation.activities import NO_REMOTE_FOLLOWERS, RemoteFollowers, find_remote_followers
from ...storage.notifications import NewNotification
from ...storage.polls import NewPoll
from ...storage.scheduled_statuses import ScheduledStatus
from ...storage.statuses import NewStatus, Status, StatusBody, StatusTag, plain_status
from ..account import AccountActor, AccountChange
from ..effects.files import files_unused
from ..effects.polls import poll_ends
from ..effects.previews import PREVIEWS, preview_of
from ..facts.conversations import ChangedConversation
from ..facts.marks import UnmarkedStatus
from ..facts.statuses import DeletedStatus, EndedQuotes, PublishedStatus
from ..kernel import Command, Refused, turn
from ..refusals import NOT_FOUND
from ..rules import text
from ..rules.attachments import complaint
from ..rules.languages import language_code
from ..rules.polls import PollTerms
from ..sending.delivery_promises import PreparedActivity
from ..sending.statuses import prepare_status, send_deletion, send_status
from ..shown.statuses import ShownStatus, may_see
from .quoting import NO_QUOTED, admit_quote

KEY_LIFETIME = timedelta(hours=1)  # of an Idempotency-Key, from the success on
NO_PARENT = Refused(404, "The post you are trying to reply to does not appear to exist.")
BLANK = Refused(422, "Validation failed: Text can't be blank")


@dataclass(frozen=True, slots=True)
class UnexpectedMentions:
    """The refusal of a status that mentions other accounts than its client allows: the ids of those accounts."""

    account_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PublishStatus(Command[Status | ScheduledStatus | UnexpectedMentions]):
    """Command: publish. The answer is the Status, or the ScheduledStatus that the idempotency key made before.

    For a None value the user's default is taken. With `allowed_mentions`, nothing is published if the text mentions
    another account.
    """

    text: str
    visibility: str | None = None
    sensitive: bool | None = None
    spoiler_text: str = ""
    language: str | None = None
    in_reply_to_id: int | None = None
    quoted_status_id: int | None = None
    content_type: str | None = None
    media_ids: tuple[int, ...] = ()
    poll: PollTerms | None = None
    quote_policy: str | None = None
    allowed_mentions: tuple[int, ...] | None = None
    application_id: int | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteStatus(Command[Status]):
    """Command: delete an own status. The answer is the Status as it was.

    Its media are kept for another status or deleted. Those of a status that an open report names are deleted only
    `by_staff`; others can't use them any more, and staff read them until the report is resolved.
    """

    status_id: int
    delete_media: bool = False
    by_staff: bool = False


@turn(AccountActor, PublishStatus)
async def publish_status(
    account: AccountActor, message: PublishStatus
) -> Status | ScheduledStatus | UnexpectedMentions | Refused:
    parent = None
    if message.in_reply_to_id is not None:
        parent = await find_original(account, message.in_reply_to_id)
        if parent is None:
            return await made_by(account, message.idempotency_key) or NO_PARENT
    quoted = None
    if message.quoted_status_id is not None:
        quoted = await find_original(account, message.quoted_status_id)
        if quoted is None:
            return await made_by(account, message.idempotency_key) or NO_QUOTED
    new = await compose(account, message, parent, quoted)
    if not new.media_ids and quoted is None and says_nothing(new.content, new.content_type):
        return BLANK
    if unexpected := unexpected_mentions(account, named_by(new), message.allowed_mentions):
        return await made_by(account, message.idempotency_key) or UnexpectedMentions(unexpected)
    poll = poll_of(account, message.poll, new.poll_id)
    key = message.idempotency_key
    published = await _publish_alone(account, new, parent, key) if _stands_alone(account, new) else None
    return published or await account.change(store, new, quoted, poll, key)


async def made_by(account: AccountActor, key: str | None) -> Status | ScheduledStatus | None:
    """Return the status that the key has made. A reply may be repeated after its parent was deleted."""
    if key is None:
        return None
    database = account.context.database
    made = await database.read(idempotency.find, account.id, key, account.now - KEY_LIFETIME)
    return await database.read(made_before, account.id, made) if made is not None else None


async def find_original(account: AccountActor, id: int) -> Status | None:
    """Return the status to interact with: it must be visible to this account. For a boost, the original."""
    shown = await find_visible(account, id)
    return None if shown is None else (shown.boosted or shown).status


async def find_visible(account: AccountActor, id: int) -> ShownStatus | None:
    """Return a status if this account may see it."""
    shown = await account.context.statuses.show(id)
    return shown if shown is not None and may_see(shown, account.current_perspective()) else None


async def compose(
    account: AccountActor, message: PublishStatus, parent: Status | None, quoted: Status | None
) -> NewStatus:
    """Return everything about the new status that does not depend on rows which may change meanwhile."""
    context = account.context
    user = account.owner
    content_type = text.content_type(message.content_type)
    written = await write(account, message.text, message.spoiler_text, content_type, quotes=quoted is not None)
    id = context.ids.next()
    uri = f"{context.base_url}/users/{user.username}/statuses/{id}"
    visibility = narrowed(await choose_visibility(account, message.visibility), quoted)
    silent = silent_mentions(account, visibility, quoted, written.mentioned_ids)
    return NewStatus(
        id=id,
        account_id=account.id,
        uri=uri,
        url=f"{context.base_url}/@{user.username}/{id}",
        visibility=visibility,
        text=written.text,
        content=written.content,
        content_type=written.content_type,
        spoiler_text=written.spoiler_text,
        sensitive=choose_sensitive(message, user.default_sensitive),
        language=language_code(message.language) or user.default_language,
        in_reply_to_id=parent.id if parent else None,
        in_reply_to_account_id=parent.account_id if parent else None,
        application_id=message.application_id,
        media_ids=message.media_ids,
        mentioned_ids=written.mentioned_ids + silent,
        silent_mention_ids=silent,
        tags=written.tags,
        quote_of_id=quoted.id if quoted else None,
        quote_policy=quote_policy(visibility, message.quote_policy or user.default_quote_policy),
        poll_id=context.ids.next() if message.poll else None,
    )


async def write(
    account: AccountActor, source: str, spoiler: str, content_type: text.ContentType, *, quotes: bool
) -> StatusBody:
    """Turn typed text into its source, HTML, mentions and hashtags, as they are stored.

    Without a text, the content warning becomes the text. If the status quotes another status, it may stay without a
    text.
    """
    context = account.context
    if not source and spoiler and not quotes:
        source, spoiler = spoiler, ""
    source = text.without_local_domain(source, context.local_domain) if content_type == "text/plain" else source
    scan = text.scan(source, content_type)
    mentioned = await find_mentioned(account, scan.handles(context.local_domain))
    content = text.render(
        source,
        mentions={handle: target_of(target) for handle, target in mentioned.items()},
        tag_url=partial(text.tag_url, context.base_url),
        local_domain=context.local_domain,
        content_type=content_type,
    )
    mentioned_ids = tuple(dict.fromkeys(target.id for target in mentioned.values()))
    tags = tuple(StatusTag(context.ids.next(), tag.name, tag.text) for tag in unique_tags(scan))
    return StatusBody(
        text=source, content=content, content_type=content_type, spoiler_text=spoiler, mentioned_ids=mentioned_ids,
        tags=tags,
    )  # fmt: skip


def unexpected_mentions(
    account: AccountActor, mentioned_ids: Sequence[int], allowed: Collection[int] | None
) -> tuple[int, ...]:
    """Return the mentioned accounts, other than the author, that are not allowed."""
    if allowed is None:
        return ()
    expected = {account.id, *allowed}
    return tuple(id for id in mentioned_ids if id not in expected)


def says_nothing(content: str, content_type: str) -> bool:
    """True if there is no text to read, after unsafe HTML was removed."""
    return not (content if content_type == "text/plain" else text.plain(content))


def poll_of(account: AccountActor, terms: PollTerms | None, id: int | None) -> NewPoll | None:
    """Return a poll as it is stored. Its time begins now."""
    if terms is None or id is None:
        return None
    expires_at = account.now + timedelta(seconds=terms.seconds or 0)
    return NewPoll(id, account.id, terms.options, terms.multiple, terms.hide_totals, expires_at)


async def find_mentioned(account: AccountActor, handles: tuple[str, ...]) -> dict[str, accounts.Account]:
    return await account.context.database.read(accounts.find_mentionable, handles) if handles else {}


async def choose_visibility(account: AccountActor, asked: str | None) -> str:
    """Return the visibility, by default the user's. Statuses of a silenced author are never public."""
    visibility = asked or account.owner.default_privacy
    row = await account.context.accounts.find(account.id)
    silenced = row is not None and row.silenced_at is not None
    return "unlisted" if silenced and visibility == "public" else visibility


def narrowed(visibility: str, quoted: Status | None) -> str:
    """Return the visibility of a status. A quote of a private status is visible to followers at most."""
    open_to_all = visibility in ("public", "unlisted")
    return "private" if open_to_all and quoted is not None and quoted.visibility == "private" else visibility


def silent_mentions(
    account: AccountActor, visibility: str, quoted: Status | None, mentioned_ids: Sequence[int]
) -> tuple[int, ...]:
    """Return the quoted author if the status would be hidden from them. Without seeing a quote they can't revoke it."""
    if quoted is None or visibility in ("public", "unlisted") or quoted.account_id in (account.id, *mentioned_ids):
        return ()
    return (quoted.account_id,)


def named_by(new: NewStatus) -> tuple[int, ...]:
    """Return the accounts that the text mentions."""
    return tuple(id for id in new.mentioned_ids if id not in new.silent_mention_ids)


def quote_policy(visibility: str, asked: str) -> str:
    """Return who may quote: only public and unlisted statuses can be quoted by others."""
    return asked if visibility in ("public", "unlisted") else "nobody"


def choose_sensitive(message: PublishStatus, default: bool) -> bool:
    asked = default if message.sensitive is None else message.sensitive
    return asked or bool(message.spoiler_text)


def unique_tags(scan: text.Scan) -> list[text.Hashtag]:
    by_name: Mapping[str, text.Hashtag] = {tag.name: tag for tag in reversed(scan.hashtags)}
    return [by_name[name] for name in scan.tags()]


def target_of(account: accounts.Account) -> text.MentionTarget:
    return text.MentionTarget(account.username, account.domain, account.url or account.uri)


def _stands_alone(account: AccountActor, new: NewStatus) -> bool:
    """True if a status concerns followers alone, none of whom asked for every post, and has nothing attached.

    Other servers get the spelling of a hashtag, which is known when the status is stored.
    """
    if account.audience == "notified" or (account.audience == "elsewhere" and new.tags):
        return False
    apart = new.poll_id is None and new.quote_of_id is None and not (new.media_ids or new.mentioned_ids)
    return apart and new.visibility != "direct" and new.in_reply_to_account_id in (None, account.id)


async def _publish_alone(
    account: AccountActor, new: NewStatus, parent: Status | None, key: str | None
) -> Status | None:  # fmt: skip
    """Store a status and its promises by one statement, after a read of the followers on other servers.

    None, and nothing is stored, if that is not enough. A transaction of several statements would cost a post 17% more
    CPU, or 29% with an Idempotency-Key; with one follower on another server 11%, its delivery included.
    """
    context, now = account.context, account.now
    new, status = replace(new, created_at=now), plain_status(new, now, parent)
    followers, prepared = NO_REMOTE_FOLLOWERS, None
    if account.audience == "elsewhere" and (author := await context.accounts.find(account.id)) is not None:
        followers = await context.database.read(find_remote_followers, account.id)
        prepared = prepare_status(context, ShownStatus(status, author), parent, followers)
        account.audience = "elsewhere" if followers.inboxes else "here"
    return await account.change_alone(_store_alone, new, status, followers, prepared, key)


async def _store_alone(
    change: AccountChange, new: NewStatus, status: Status, followers: RemoteFollowers,
    prepared: PreparedActivity | None, key: str | None,
) -> Status | None:  # fmt: skip
    promise_created(change, status)
    change.promise(*([] if prepared is None else prepared.promises))
    rows = change.rows_of_promises([PublishedStatus(new.id, change.account.id), *change.facts])
    made = await statuses.insert_alone(
        change.db, change.account.entering, new, change.now, key, change.now - KEY_LIFETIME, rows, followers,
        prepared and prepared.activity,
    )  # fmt: skip
    if made is None:
        change.discard()
        return None
    publish_created(change, ShownStatus(made.status, made.author))
    return made.status


async def store(
    change: AccountChange, new: NewStatus, quoted: Status | None, poll: NewPoll | None, key: str | None
) -> Status | ScheduledStatus | Refused:
    """Store a status. If the key is known, return the status that it made."""
    db, account, now = change.db, change.account, change.now
    if (earlier := await made_with(db, account.id, key, now)) is not None:
        return earlier
    if quoted is not None:
        admitted = await admit_quote(db, account.id, quoted)
        if isinstance(admitted, Refused):
            return admitted
        new = replace(new, quote_state=admitted)
    if new.media_ids and (refusal := await refuse_media(change, new.media_ids)) is not None:
        return refusal
    if poll is not None:
        await polls.insert(db, poll, now)
    made = await statuses.insert(db, new, now)
    if key is not None:
        await idempotency.insert(db, account.id, key, idempotency.KeyedStatus(new.id), now, now - KEY_LIFETIME)
    publish_created(change, ShownStatus(made.status, made.author))
    promise_created(change, made.status)
    change.promise(*await send_status(db, account, made))
    added = await change.notify(*news_of(account, new, made, quoted))
    concerned = [account.id, *(row.account_id for row in added if row.type == "mention")]
    await add_to_conversations(change, made.status, concerned)
    account.audience = "notified" if made.waiting else "elsewhere" if made.leaves else "here"
    return made.status


async def refuse_media(change: AccountChange, ids: tuple[int, ...]) -> Refused | None:
    """Return why these media can't be attached; else lock them until the transaction ends."""
    wrong = complaint(ids, await media.lock(change.db, ids), change.account.id)
    return None if wrong is None else Refused(422, wrong)


def news_of(
    account: AccountActor, new: NewStatus, made: statuses.InsertedStatus, quoted: Status | None
) -> list[NewNotification]:
    """Return notifications for the mentioned and quoted accounts, and for followers who asked for every post."""
    ids, status = account.context.ids, made.status
    news = [NewNotification(ids.next(), id, account.id, "mention", status.id) for id in named_by(new)]
    if quoted is not None and status.quote_state == "accepted":
        news.append(NewNotification(ids.next(), quoted.account_id, account.id, "quote", status.id))
    if status.visibility != "direct" and status.in_reply_to_account_id in (None, account.id):
        news += [NewNotification(ids.next(), id, account.id, "status", status.id) for id in made.waiting]
    return news


async def add_to_conversations(change: AccountChange, status: Status, concerned: list[int]) -> None:
    """Add a direct status to the conversations of its author and of its recipients."""
    if status.visibility != "direct" or not concerned:
        return
    fresh = [change.ids.next() for _ in concerned]
    for conversation in await conversations.put(change.db, status.id, concerned, fresh):
        change.publish(ChangedConversation.of(conversation))


def publish_created(change: AccountChange, shown: ShownStatus, *, news: bool = True) -> None:
    """Publish a new status, as it is shown, with the counts that it changes."""
    status = shown.status
    change.publish(PublishedStatus(status.id, status.account_id, shown, news))
    if status.in_reply_to_id is None:  # a reply may be part of a muted conversation
        change.publish(UnmarkedStatus(status.account_id, status.id))


def promise_created(change: AccountChange, status: Status) -> None:
    """Promise to fetch the page of the link of a new status, and to end its poll. Other statuses have other counts."""
    change.count_again(status.in_reply_to_id, status.quote_of_id)
    if change.context.outbox.executes(PREVIEWS):
        change.promise(*preview_of(status, change.context.base_url))
    if status.poll is not None and status.poll.expires_at is not None:
        change.promise(poll_ends(status.poll.id, status.account_id, status.poll.expires_at))


async def made_with(db: Connection, account_id: int, key: str | None, now: datetime) -> Status | ScheduledStatus | None:
    """Return the result of an idempotency key. If it was deleted, the key is forgotten and makes another status.

    Some apps make the key from the text. People who delete a post and send its text again want a new post.
    """
    earlier = None if key is None else await idempotency.find(db, account_id, key, now - KEY_LIFETIME)
    if key is None or earlier is None:
        return None
    made = await made_before(db, account_id, earlier)
    if made is None:
        await idempotency.forget(db, account_id, key)
    return made


async def made_before(
    db: Connection, account_id: int, made: idempotency.KeyedStatus
) -> Status | ScheduledStatus | None:
    """Return the status of an idempotency key, if it still exists."""
    if made.scheduled_status_id is not None:
        return await scheduled_statuses.find(db, made.scheduled_status_id, account_id)
    return await statuses.find(db, made.status_id) if made.status_id is not None else None


@turn(AccountActor, DeleteStatus)
async def delete_status(account: AccountActor, message: DeleteStatus) -> Status | Refused:
    return await account.change(delete, message)


async def delete(change: AccountChange, message: DeleteStatus) -> Status | Refused:
    """Delete an own status, and return it as it was."""
    db, account, now = change.db, change.account, change.now
    id = message.status_id
    deleted = await deletions.soft_delete(db, id, account.id, now, change.ids.next)
    if deleted is None:
        return NOT_FOUND
    status = deleted.status
    if status.reblog_of_id is not None:
        await notifications.withdraw_from(db, account.id, "reblog", status.reblog_of_id)
    if status.visibility == "direct":
        await conversations.retract(db, id)
    # Media of a reported status are evidence: they stay until the report is resolved.
    kept = not message.by_staff and await reports.names_status(db, id)
    if message.delete_media and status.media and kept:
        await media.discard(db, [medium.id for medium in status.media], now)
    elif message.delete_media and status.media:
        gone = await media.delete_many(db, [medium.id for medium in status.media])
        copies = await remote_files.delete_of(db, [url for medium in gone for url in medium.remote_urls])
        files = [file for medium in gone for file in medium.files]
        change.promise(files_unused([*files, *copies]))
    change.publish(DeletedStatus(deleted), EndedQuotes(deleted.quotes))
    change.promise(*await send_deletion(db, account, status))
    return status
