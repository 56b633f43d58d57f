"""Publishing and deleting statuses, in the turn of their author."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    remote_files,
    reports,
    scheduled_statuses,
    statuses,
)
from ...storage.deletions import Deleted
from ...storage.engine.database import Connection
from ...storage.notifications import NewNotification, Notification
from ...storage.polls import NewPoll
from ...storage.scheduled_statuses import ScheduledStatus
from ...storage.statuses import NewStatus, Status, StatusTag
from ..account import AccountActor
from ..conversations import ShownConversation
from ..effects.conversations import conversation_changed
from ..effects.files import files_unused
from ..effects.notifications import notifications_added
from ..effects.polls import poll_ends
from ..effects.previews import PREVIEWS, preview_of
from ..effects.registry import Promise
from ..effects.statuses import counts_changed, quotes_ended, status_changed, status_gone
from ..facts import (
    AddedNotifications,
    ChangedConversation,
    ChangedStatus,
    DeletedStatus,
    EndedQuotes,
    Fact,
    PublishedStatus,
    UnmarkedStatus,
)
from ..kernel import Message, Origin, Refused, turn
from ..outbox import told_by_turns
from ..refusals import NOT_FOUND
from ..rules import text
from ..rules.attachments import complaint
from ..rules.languages import language_code
from ..rules.links import link_of
from ..rules.polls import PollTerms
from ..sending.statuses import send_deletion, send_status
from ..statuses import ShownStatus, may_see
from .quoting import NO_QUOTED, admit_quote

KEY_LIFETIME = timedelta(hours=1)  # of an Idempotency-Key, from the success on
NO_PARENT = Refused(404, "The post you are trying to reply to does not appear to exist.")
BLANK = Refused(422, "Validation failed: Text can't be blank")


@dataclass(frozen=True, slots=True)
class UnexpectedMentions:
    """The refusal of a status that mentions other accounts than its client allows: the ids of those accounts."""

    account_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PublishStatus(Message[Status | ScheduledStatus | UnexpectedMentions]):
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
class DeleteStatus(Message[Status]):
    """Command: delete an own status. The answer is the Status as it was.

    Its media are kept for another status or deleted. Those of a status that an open report names are deleted only
    `by_staff`; others can't use them any more, and staff read them until the report is resolved.
    """

    status_id: int
    delete_media: bool = False
    by_staff: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """A prepared text: its source, HTML, mentions and hashtags."""

    text: str
    content: str
    content_type: text.ContentType
    spoiler_text: str
    mentioned_ids: tuple[int, ...]
    tags: tuple[StatusTag, ...]


@dataclass(frozen=True, slots=True)
class Published:
    """The outcome of the transaction. `promised` is empty if the idempotency key was known."""

    status: Status
    author: accounts.Account
    told: list[Notification] = field(default_factory=list[Notification])
    in_conversations: list[ShownConversation] = field(default_factory=list[ShownConversation])
    promised: list[int] = field(default_factory=list[int])
    concerns_more: bool = False  # followers who asked for every post, or accounts on other servers


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
    published = await store_alone(account, new, key) if stands_alone(account, new) else None
    if published is None:
        published = await account.transact(store, account, new, quoted, poll, key, account.now, account.origin)
    if published is None:
        return NOT_FOUND
    if not isinstance(published, Published):
        return published
    if published.promised:
        account.posts_alone = not published.concerns_more
        await publish_created(account, published)
    return published.status


async def made_by(account: AccountActor, key: str | None) -> Status | ScheduledStatus | None:
    """Return what the key has made. The same reply may be sent again after the status it replies to is gone."""
    if key is None:
        return None
    database = account.context.database
    made = await database.read(idempotency.find, account.id, key, account.now - KEY_LIFETIME)
    there = await database.read(made_before, account.id, made) if made is not None else None
    return there.status if isinstance(there, Published) else there


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
) -> Written:
    """Turn typed text into what is stored and shown.

    Without a text, the content warning becomes the text. If the status quotes another one, it may stay without a text.
    """
    context = account.context
    if not source and spoiler and not quotes:
        source, spoiler = spoiler, ""
    source = text.without_local_domain(source, context.local_domain) if content_type == "text/plain" else source
    scan = text.scan(source, content_type)
    mentioned = await find_mentioned(account, scan.handles(context.local_domain))
    content = text.render(
        source,
        mentions={handle: target_of(one) for handle, one in mentioned.items()},
        tag_url=partial(text.tag_url, context.base_url),
        local_domain=context.local_domain,
        content_type=content_type,
    )
    mentioned_ids = tuple(dict.fromkeys(one.id for one in mentioned.values()))
    tags = tuple(StatusTag(context.ids.next(), tag.name, tag.text) for tag in unique_tags(scan))
    return Written(source, content, content_type, spoiler, mentioned_ids, tags)


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
    """Return the visibility of a status that may quote a private one, which only followers may see."""
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


def stands_alone(account: AccountActor, new: NewStatus) -> bool:
    """True if a status concerns no other account by itself, and has nothing attached: one statement may store it."""
    apart = new.poll_id is None and new.quote_of_id is None and not (new.media_ids or new.mentioned_ids)
    own = apart and new.visibility != "direct" and new.in_reply_to_account_id in (None, account.id)
    return own and account.posts_alone and link_of(new, account.context.base_url) is None


async def store_alone(account: AccountActor, new: NewStatus, key: str | None) -> Published | None:
    """Store a status and everything it promises by one statement. None if that is not enough, and nothing is stored."""
    outbox, now = account.context.outbox, account.now
    promises = [status_changed(new.id, account.id)]
    if new.in_reply_to_id is not None:
        promises.append(counts_changed(new.in_reply_to_id, account.id))
    effects = outbox.effects_of(promises, account.origin)
    made = await account.transact_alone(statuses.insert_alone, new, now, key, now - KEY_LIFETIME, effects)
    return None if made is None else Published(made.status, made.author, promised=told_by_turns(effects))


async def store(
    db: Connection,
    account: AccountActor,
    new: NewStatus,
    quoted: Status | None,
    poll: NewPoll | None,
    key: str | None,
    now: datetime,
    origin: Origin,
) -> Published | ScheduledStatus | Refused | None:
    """Store the status and everything it promises.

    If the key is known, return what it made.
    """
    if (earlier := await made_with(db, account.id, key, now)) is not None:
        return earlier
    if quoted is not None:
        admitted = await admit_quote(db, account.id, quoted)
        if isinstance(admitted, Refused):
            return admitted
        new = replace(new, quote_state=admitted)
    if new.media_ids and (refusal := await refuse_media(db, account, new.media_ids)) is not None:
        return refusal
    if poll is not None:
        await polls.insert(db, poll, now)
    made = await statuses.insert(db, new, now)
    if key is not None:
        await idempotency.insert(db, account.id, key, idempotency.KeyedStatus(new.id), now, now - KEY_LIFETIME)
    status, author = made.status, made.author
    told = await notifications.insert_many(db, news_of(account, new, made, quoted), now)
    concerned = [account.id, *(one.account_id for one in told if one.type == "mention")]
    in_conversations = await add_to_conversations(db, account, ShownStatus(status, author), concerned)
    sent = await send_status(db, account, made)
    promised = await promise_status(db, account, status, told, in_conversations, origin, sent)
    return Published(status, author, told, in_conversations, promised, concerns_more=bool(made.waiting) or made.leaves)


async def refuse_media(db: Connection, account: AccountActor, ids: tuple[int, ...]) -> Refused | None:
    """Return why these media can't be attached; else lock them until the transaction ends."""
    wrong = complaint(ids, await media.lock(db, ids), account.id)
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


async def add_to_conversations(
    db: Connection, account: AccountActor, shown: ShownStatus, concerned: list[int]
) -> list[ShownConversation]:
    """Add a direct status to the conversations of its author and of its recipients."""
    if shown.status.visibility != "direct" or not concerned:
        return []
    fresh = [account.context.ids.next() for _ in concerned]
    changed = await conversations.put(db, shown.id, concerned, fresh)
    people = await accounts.find_many(db, list({id for one in changed for id in one.participant_ids}))
    return [ShownConversation(one, tuple(people[id] for id in one.participant_ids), shown) for one in changed]


async def promise_status(
    db: Connection,
    account: AccountActor,
    status: Status,
    told: list[Notification],
    in_conversations: list[ShownConversation],
    origin: Origin,
    sent: Sequence[Promise] = (),
    *,
    news: bool = True,
) -> list[int]:
    """Promise everything that a new status brings about."""
    outbox = account.context.outbox
    promises = [
        status_changed(status.id, account.id, news=news),
        *sent,
        *notifications_added(told),
        *(conversation_changed(conversation.conversation, account.id) for conversation in in_conversations),
    ]
    promises += [counts_changed(id, account.id) for id in (status.in_reply_to_id, status.quote_of_id) if id is not None]
    if outbox.carries_out(PREVIEWS):
        promises += preview_of(status, account.context.base_url)
    promised = await outbox.promise(db, promises, origin)
    # Not among the promises that this turn carries out itself: it waits for the end of the poll.
    if status.poll is not None and status.poll.expires_at is not None:
        await outbox.promise(db, [poll_ends(status.poll.id, account.id, status.poll.expires_at)], origin)
    return promised


async def made_with(
    db: Connection, account_id: int, key: str | None, now: datetime
) -> Published | ScheduledStatus | None:
    """Return what an idempotency key has made. If that was deleted, the key is forgotten and makes another status.

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
) -> Published | ScheduledStatus | None:
    """Return what an idempotency key has made, if it still exists."""
    if made.scheduled_status_id is not None:
        return await scheduled_statuses.find(db, made.scheduled_status_id, account_id)
    status = await statuses.find(db, made.status_id) if made.status_id is not None else None
    author = await accounts.find(db, account_id)
    return Published(status, author) if status is not None and author is not None else None


async def publish_created(account: AccountActor, published: Published, *, news: bool = True) -> None:
    """Tell of the new status, after the commit and before the answer."""
    status = published.status
    facts: list[Fact] = [PublishedStatus(status.id, ShownStatus(status, published.author), news)]
    if status.in_reply_to_id is not None:
        facts.append(ChangedStatus(status.in_reply_to_id))
    else:
        facts.append(UnmarkedStatus(account.id, status.id))  # a reply may be part of a muted conversation
    if status.quote_of_id is not None:
        facts.append(ChangedStatus(status.quote_of_id))
    facts.append(AddedNotifications(published.told))
    facts += [ChangedConversation(conversation) for conversation in published.in_conversations]
    await account.publish(*facts, promised=published.promised)
    wake_previews(account, status.content)


def wake_previews(account: AccountActor, content: str) -> None:
    """Have the page of a link fetched at once. Most statuses have none."""
    if "<a " in content:
        account.context.outbox.wake(PREVIEWS)


@turn(AccountActor, DeleteStatus)
async def delete_status(account: AccountActor, message: DeleteStatus) -> Status | Refused:
    done = await account.transact(delete, account, message, account.now, account.origin)
    if done is None:
        return NOT_FOUND
    deleted, promised = done
    await account.publish(DeletedStatus(deleted), EndedQuotes(deleted.quotes), promised=promised)
    return deleted.status


async def delete(
    db: Connection, account: AccountActor, message: DeleteStatus, now: datetime, origin: Origin
) -> tuple[Deleted, list[int]] | None:
    """Return the deletion and its promises. None if this account has no status with the id."""
    id = message.status_id
    deleted = await deletions.soft_delete(db, id, account.id, now, account.context.ids.next)
    if deleted is None:
        return None
    status, outbox = deleted.status, account.context.outbox
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
        await outbox.promise(db, [files_unused([*files, *copies])], origin)
    promises = [status_gone(id, account.id), *(status_gone(boost, by) for boost, by in deleted.reblogs)]
    promises += quotes_ended(deleted.quotes, account.id)
    promises += await send_deletion(db, account, status)
    counted = (status.in_reply_to_id, status.reblog_of_id, status.quote_of_id)
    promises += [counts_changed(other, account.id) for other in counted if other is not None]
    return deleted, await outbox.promise(db, promises, origin)
