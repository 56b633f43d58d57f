"""Publishing and deleting statuses, in the turn of their author."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from ...storage import accounts, conversations, idempotency, media, notifications, polls, scheduled_statuses, statuses
from ...storage.engine import Connection
from ...storage.notifications import NewNotification, Notification
from ...storage.polls import NewPoll
from ...storage.scheduled_statuses import ScheduledStatus
from ...storage.statuses import Deleted, Flags, NewStatus, Status, Tag
from ..account import Account
from ..broadcast import Told
from ..correspondence import Correspondence
from ..kernel import Origin, Refused, turn
from ..rules import text
from ..rules.attachments import complaint
from ..rules.languages import language_code
from ..rules.polls import PollTerms
from ..statuses import Shown, may_see

KEY_LIFETIME = timedelta(hours=1)  # of an Idempotency-Key, from the success on
NO_PARENT = Refused(404, "The post you are trying to reply to does not appear to exist.")
NOT_FOUND = Refused(404, "Record not found")
BLANK = Refused(422, "Validation failed: Text can't be blank")


@dataclass(frozen=True, slots=True)
class PublishStatus:
    """Command: publish; answered with the Status, or with the ScheduledStatus that the idempotency key made before.

    What is None is taken from the user's defaults.
    """

    text: str
    visibility: str | None = None
    sensitive: bool | None = None
    spoiler_text: str = ""
    language: str | None = None
    in_reply_to_id: int | None = None
    content_type: str | None = None
    media_ids: tuple[int, ...] = ()
    poll: PollTerms | None = None
    quote_policy: str | None = None
    application_id: int | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteStatus:
    """Command: delete an own status; answered with the Status as it was. Its media stay for another one, or go too."""

    status_id: int
    delete_media: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """A text made ready: what is stored, what is shown, and whom and what it names."""

    text: str
    content: str
    content_type: text.ContentType
    spoiler_text: str
    mentioned_ids: tuple[int, ...]
    tags: tuple[Tag, ...]


@dataclass(frozen=True, slots=True)
class Published:
    """What the transaction came to: `promised` is empty when the idempotency key was known."""

    status: Status
    author: accounts.Account
    told: list[Notification] = field(default_factory=list[Notification])
    letters: list[Correspondence] = field(default_factory=list[Correspondence])
    promised: list[int] = field(default_factory=list[int])


@turn(Account, PublishStatus)
async def publish_status(self: Account, message: PublishStatus) -> Status | ScheduledStatus | Refused:
    parent = None
    if message.in_reply_to_id is not None:
        parent = await find_original(self, message.in_reply_to_id)
        if parent is None:
            return await made_by(self, message.idempotency_key) or NO_PARENT
    new = await compose(self, message, parent)
    if not new.media_ids and says_nothing(new.content, new.content_type):
        return BLANK
    poll = poll_of(self, message.poll, new.poll_id)
    published = await self.transact(store, self, new, poll, message.idempotency_key, self.now, self.origin)
    if published is None:
        return NOT_FOUND
    if not isinstance(published, Published):
        return published
    if published.promised:
        await spread(self, published)
    return published.status


async def made_by(self: Account, key: str | None) -> Status | ScheduledStatus | None:
    """What the key has made: an answer sent again after what it answers is gone."""
    if key is None:
        return None
    database = self.backstage.database
    made = await database.read(idempotency.find, self.id, key, self.now - KEY_LIFETIME)
    there = await database.read(made_before, self.id, made) if made is not None else None
    return there.status if isinstance(there, Published) else there


async def find_original(self: Account, id: int) -> Status | None:
    """The status an interaction is meant for: visible to this account, and of a boost what is boosted."""
    shown = await find_visible(self, id)
    return None if shown is None else (shown.boosted or shown).status


async def find_visible(self: Account, id: int) -> Shown | None:
    """A status that this account may see."""
    shown = await self.backstage.statuses.show(id)
    return shown if shown is not None and may_see(shown, self.current_perspective()) else None


async def compose(self: Account, message: PublishStatus, parent: Status | None) -> NewStatus:
    """Everything about the new status that does not race with anything."""
    backstage = self.backstage
    user = self.owner
    written = await write(self, message.text, message.spoiler_text, text.content_type(message.content_type))
    id = backstage.ids.next()
    uri = f"{backstage.base_url}/users/{user.username}/statuses/{id}"
    visibility = await choose_visibility(self, message.visibility)
    return NewStatus(
        id=id,
        account_id=self.id,
        uri=uri,
        url=f"{backstage.base_url}/@{user.username}/{id}",
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
        mentioned_ids=written.mentioned_ids,
        tags=written.tags,
        quote_policy=quote_policy(visibility, message.quote_policy or user.default_quote_policy),
        poll_id=backstage.ids.next() if message.poll else None,
    )


async def write(self: Account, source: str, spoiler: str, content_type: text.ContentType) -> Written:
    """From what was typed to what is stored and shown. Without a text, its warning is the text."""
    backstage = self.backstage
    if not source and spoiler:
        source, spoiler = spoiler, ""
    source = text.without_local_domain(source, backstage.local_domain) if content_type == "text/plain" else source
    scan = text.scan(source, content_type)
    mentioned = await find_mentioned(self, scan.handles(backstage.local_domain))
    content = text.render(
        source,
        mentions={handle: target_of(account) for handle, account in mentioned.items()},
        tag_url=partial(text.tag_url, backstage.base_url),
        local_domain=backstage.local_domain,
        content_type=content_type,
    )
    mentioned_ids = tuple(dict.fromkeys(account.id for account in mentioned.values()))
    tags = tuple(Tag(backstage.ids.next(), tag.name, tag.text) for tag in unique_tags(scan))
    return Written(source, content, content_type, spoiler, mentioned_ids, tags)


def says_nothing(content: str, content_type: str) -> bool:
    """Whether nothing is left to read of what was typed: of HTML, what is not safe is taken out."""
    return content_type != "text/plain" and not text.plain(content)


def poll_of(self: Account, terms: PollTerms | None, id: int | None) -> NewPoll | None:
    """A poll as it is stored; its time begins now."""
    if terms is None or id is None:
        return None
    expires_at = self.now + timedelta(seconds=terms.seconds or 0)
    return NewPoll(id, self.id, terms.options, terms.multiple, terms.hide_totals, expires_at)


async def find_mentioned(self: Account, handles: tuple[str, ...]) -> dict[str, accounts.Account]:
    return await self.backstage.database.read(accounts.find_mentionable, handles) if handles else {}


async def choose_visibility(self: Account, asked: str | None) -> str:
    """The user's default when nothing was asked; a silenced author is never public."""
    visibility = asked or self.owner.default_privacy
    account = await self.backstage.accounts.find(self.id)
    silenced = account is not None and account.silenced_at is not None
    return "unlisted" if silenced and visibility == "public" else visibility


def quote_policy(visibility: str, asked: str) -> str:
    """What not everybody may see nobody may quote."""
    return asked if visibility in ("public", "unlisted") else "nobody"


def choose_sensitive(message: PublishStatus, default: bool) -> bool:
    asked = default if message.sensitive is None else message.sensitive
    return asked or bool(message.spoiler_text)


def unique_tags(scan: text.Scan) -> list[text.Hashtag]:
    by_name: Mapping[str, text.Hashtag] = {tag.name: tag for tag in reversed(scan.hashtags)}
    return [by_name[name] for name in scan.tags()]


def target_of(account: accounts.Account) -> text.MentionTarget:
    return text.MentionTarget(account.username, account.domain, account.url or account.uri)


async def store(
    db: Connection, self: Account, new: NewStatus, poll: NewPoll | None, key: str | None, now: datetime, origin: Origin
) -> Published | ScheduledStatus | Refused | None:
    """The status and everything it promises, or what the key made before; None when that is gone since."""
    if key is not None and (earlier := await idempotency.find(db, self.id, key, now - KEY_LIFETIME)) is not None:
        return await made_before(db, self.id, earlier)
    if new.media_ids and (refusal := await refuse_media(db, self, new.media_ids)) is not None:
        return refusal
    if poll is not None:
        await polls.insert(db, poll, now)
    made = await statuses.insert(db, new, now)
    if key is not None:
        await idempotency.insert(db, self.id, key, idempotency.Made(new.id), now, now - KEY_LIFETIME)
    status, author = made.status, made.author
    told = await notifications.insert_many(db, _news(self, made), now)
    concerned = [self.id, *(notification.account_id for notification in told)]
    letters = await correspond(db, self, Shown(status, author), concerned)
    return Published(status, author, told, letters, await _promise(db, self, status, told, letters, origin))


async def refuse_media(db: Connection, self: Account, ids: tuple[int, ...]) -> Refused | None:
    """Why these can't be attached; when they can, nobody else attaches them before this transaction ends."""
    wrong = complaint(ids, await media.lock(db, ids), self.id)
    return None if wrong is None else Refused(422, wrong)


def _news(self: Account, made: statuses.Made) -> list[NewNotification]:
    """For those it names, and those who want to hear of whatever this account posts."""
    ids, status = self.backstage.ids, made.status
    news = [NewNotification(ids.next(), id, self.id, "mention", status.id) for id in status.mentioned_ids]
    if status.visibility != "direct" and status.in_reply_to_account_id in (None, self.id):
        news += [NewNotification(ids.next(), id, self.id, "status", status.id) for id in made.waiting]
    return news


async def correspond(db: Connection, self: Account, shown: Shown, concerned: list[int]) -> list[Correspondence]:
    """A direct status comes into the conversations of its author and of those who are told of it."""
    if shown.status.visibility != "direct" or not concerned:
        return []
    fresh = [self.backstage.ids.next() for _ in concerned]
    changed = await conversations.put(db, shown.id, concerned, fresh)
    people = await accounts.find_many(db, list({id for one in changed for id in one.participant_ids}))
    return [Correspondence(one, tuple(people[id] for id in one.participant_ids), shown) for one in changed]


async def _promise(
    db: Connection,
    self: Account,
    status: Status,
    told: list[Notification],
    letters: list[Correspondence],
    origin: Origin,
) -> list[int]:
    outbox = self.backstage.outbox
    effects = [
        outbox.status(status.id, self.id, origin),
        *(outbox.notification(n.id, n.account_id, origin) for n in told),
        *(outbox.conversation(c.conversation.id, c.conversation.account_id, self.id, origin) for c in letters),
    ]
    if status.in_reply_to_id is not None:
        effects.append(outbox.counts(status.in_reply_to_id, self.id, origin))
    promised = await outbox.promise(db, effects)
    if status.poll is not None and status.poll.expires_at is not None:
        await outbox.promise(db, [outbox.poll(status.poll.id, status.poll.expires_at, origin)])
    return promised


async def made_before(db: Connection, account_id: int, made: idempotency.Made) -> Published | ScheduledStatus | None:
    """What an idempotency key has made, if it is still there."""
    if made.scheduled_status_id is not None:
        return await scheduled_statuses.find(db, made.scheduled_status_id, account_id)
    status = await statuses.find(db, made.status_id) if made.status_id is not None else None
    author = await accounts.find(db, account_id)
    return Published(status, author) if status is not None and author is not None else None


async def spread(self: Account, published: Published) -> None:
    """After the commit, before the answer: caches, timelines, streams. When timelines are crowded, the relay tells them
    after the answer."""
    backstage, status = self.backstage, published.status
    backstage.statuses.put(status.id, status)
    backstage.accounts.put(self.id, published.author)
    if status.in_reply_to_id is not None:
        backstage.statuses.drop(status.in_reply_to_id)
    else:
        self.keep_flags(status.id, Flags())  # an answer may be part of a muted conversation
    shown = Shown(status, published.author)
    recipients = [notification.account_id for notification in published.told]
    if not await backstage.outbox.finds_room(self.address, published.promised, shown, recipients):
        backstage.broadcast.published_to_author(shown, self.origin)
        return
    backstage.broadcast.published(shown, self.origin)
    for notification in published.told:
        backstage.broadcast.notified(Told(notification, published.author, shown), self.origin)
    for letter in published.letters:
        backstage.broadcast.corresponded(letter, self.origin)
    backstage.outbox.hand_over(published.promised)


@turn(Account, DeleteStatus)
async def delete_status(self: Account, message: DeleteStatus) -> Status | Refused:
    buried = await self.transact(bury, self, message.status_id, self.now, self.origin, with_media=message.delete_media)
    if buried is None:
        return NOT_FOUND
    retract(self, *buried)
    return buried[0].status


def retract(self: Account, deleted: Deleted, promised: list[int]) -> None:
    """After the commit, before the answer: nobody shows it any more."""
    forget(self, deleted)
    self.backstage.broadcast.deleted(deleted, self.origin)
    self.backstage.outbox.hand_over(promised)


async def bury(
    db: Connection, self: Account, id: int, now: datetime, origin: Origin, *, with_media: bool = False
) -> tuple[Deleted, list[int]] | None:
    """The deletion and what it promises; None when there is no such status of this account."""
    deleted = await statuses.soft_delete(db, id, self.id, now)
    if deleted is None:
        return None
    status, outbox = deleted.status, self.backstage.outbox
    if status.reblog_of_id is not None:
        await notifications.withdraw_from(db, self.id, "reblog", status.reblog_of_id)
    if status.visibility == "direct":
        await conversations.retract(db, id)
    if with_media and status.media:
        gone = await media.delete_many(db, [medium.id for medium in status.media])
        await outbox.promise(db, [outbox.files([file for medium in gone for file in medium.files], origin)])
    effects = [outbox.status(id, self.id, origin), *(outbox.status(boost, by, origin) for boost, by in deleted.reblogs)]
    counted = (status.in_reply_to_id, status.reblog_of_id)
    effects += [outbox.counts(other, self.id, origin) for other in counted if other is not None]
    return deleted, await outbox.promise(db, effects)


def forget(self: Account, deleted: Deleted) -> None:
    """Nothing in memory shows the status or its boosts any more, and every count is read again."""
    backstage, status = self.backstage, deleted.status
    backstage.statuses.delete(status.id)
    backstage.accounts.drop(self.id)
    for counted in (status.in_reply_to_id, status.reblog_of_id):
        if counted is not None:
            backstage.statuses.drop(counted)
    if status.reblog_of_id is not None:
        self.mark(status.reblog_of_id, reblogged=False)
    for boost, booster in deleted.reblogs:
        backstage.statuses.delete(boost)
        backstage.accounts.drop(booster)
