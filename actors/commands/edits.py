"""Editing a status, in the turn of its author.

An edit replaces everything but the quote; the language and the quote policy stay if none is given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ...storage import edits, media, notifications, polls, preview_cards, quotes, reblogs, statuses
from ...storage.edits import Revision
from ...storage.media import Media
from ...storage.notifications import NewNotification
from ...storage.polls import NewPoll, Option, Poll
from ...storage.statuses import Status, StatusBody
from ..account import AccountActor, AccountChange
from ..effects.polls import forget_poll, poll_ends
from ..effects.previews import PREVIEWS, preview_of
from ..facts.notifications import AddedNotification
from ..facts.statuses import EditedStatus
from ..kernel import Command, Refused, turn
from ..refusals import NOT_ALLOWED, NOT_FOUND
from ..rules import text
from ..rules.attachments import BESIDE_A_QUOTE, complaint
from ..rules.languages import language_code
from ..rules.links import link_of
from ..rules.polls import PollTerms
from ..sending.statuses import send_edit
from .interacting import invalid
from .statuses import BLANK, add_to_conversations, quote_policy, says_nothing, write

NO_DEADLINE = invalid("Deadline can't be blank")
# Between two states of a status: the times in documents for other servers have this precision.
SHORTEST = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Description:
    """The description and focus of an attached medium. None leaves a value as it is."""

    media_id: int
    text: str | None = None
    focus: dict[str, float] | None = None

    def changes(self, medium: Media | None) -> bool:
        """True if a value is given."""
        if medium is None:
            return False
        worded = self.text is not None and self.text != medium.description
        return worded or (self.focus is not None and self.focus != medium.meta.get("focus"))


@dataclass(frozen=True, slots=True)
class EditStatus(Command[None]):
    """Command: edit a status. An empty value removes the value; None leaves it as it is, except for the poll."""

    status_id: int
    text: str
    spoiler_text: str = ""
    sensitive: bool = False
    language: str | None = None
    content_type: str | None = None
    media_ids: tuple[int, ...] = ()
    descriptions: tuple[Description, ...] = ()
    poll: PollTerms | None = None
    quote_policy: str | None = None


@dataclass(frozen=True, slots=True)
class SetQuotePolicy(Command[None]):
    """Command: set who may quote an own status."""

    status_id: int
    policy: str


@turn(AccountActor, EditStatus)
async def edit_status(account: AccountActor, message: EditStatus) -> Refused | None:
    before = await account.context.statuses.find(message.status_id)
    if before is None or before.account_id != account.id:
        return NOT_FOUND
    if before.reblog_of_id is not None:
        return NOT_ALLOWED
    content_type = text.content_type(message.content_type or before.content_type)
    quotes = before.quote_state is not None
    written = await write(account, message.text, message.spoiler_text, content_type, quotes=quotes)
    if not message.media_ids and not quotes and says_nothing(written.content, written.content_type):
        return BLANK
    return await account.change(_edit, message, written)


@turn(AccountActor, SetQuotePolicy)
async def set_quote_policy(account: AccountActor, message: SetQuotePolicy) -> Refused | None:
    status = await account.context.statuses.find(message.status_id)
    if status is None or status.account_id != account.id:
        return NOT_FOUND
    if status.reblog_of_id is not None:
        return NOT_ALLOWED
    return await account.change(_change_policy, message)


async def mark_sensitive(change: AccountChange, id: int, *, sensitive: bool) -> None:
    """Mark an own status as sensitive, or no longer. This is not an edit of its author's. Nothing if it is gone."""
    status = await statuses.lock_own(change.db, id, change.account.id)
    if status is None or status.sensitive == sensitive:
        return
    change_id = change.ids.next()
    await edits.set_sensitive(change.db, id, change_id, sensitive=sensitive)
    await statuses.store_words(change.db, [id])
    await show_again(change, status, change_id)


async def _change_policy(change: AccountChange, message: SetQuotePolicy) -> Refused | None:
    status = await statuses.lock_own(change.db, message.status_id, change.account.id)
    if status is None:
        return NOT_FOUND
    return await show_again(change, status, await _set_policy(change, status, message.policy))


async def _set_policy(change: AccountChange, status: Status, asked: str | None) -> int | None:
    """Set who may quote a locked status. Return the id of the change, None if nothing changes."""
    policy = status.quote_policy if asked is None else quote_policy(status.visibility, asked)
    if policy == status.quote_policy:
        return None
    change_id = change.ids.next()
    await edits.set_quote_policy(change.db, status.id, policy, change_id)
    return change_id


async def show_again(change: AccountChange, status: Status, change_id: int | None) -> None:
    """Show a status again after a change that is not an edit: it makes no revision and no notification.

    Nothing without the id of a change.
    """
    if change_id is not None:
        await _publish_edit(change, status, change_id, await reblogs.rebloggers(change.db, status.id))
        change.promise(*await send_edit(change.db, change.account, status.id))


async def _publish_edit(change: AccountChange, status: Status, edit_id: int, rebloggers: list[int]) -> None:
    """Publish the latest state of a status, also to accounts that were notified of a mention in it."""
    notified = await notifications.mentioned(change.db, [status.id])
    change.publish(EditedStatus(status.id, edit_id, rebloggers, notified.get(status.id, ())))


async def _edit(change: AccountChange, message: EditStatus, written: StatusBody) -> Refused | None:
    db, account, now = change.db, change.account, change.now
    status = await statuses.lock_own(db, message.status_id, account.id)
    if status is None:
        return NOT_FOUND
    attached = await media.lock(db, message.media_ids)
    if (refusal := _refuse(account, message, status, attached)) is not None:
        return refusal
    change_id = await _set_policy(change, status, message.quote_policy)
    poll = _poll_after(account, status, message.poll, now)
    revision = _revise(status, message, written, poll)
    descriptions = [new for new in message.descriptions if new.changes(attached.get(new.media_id))]
    if not descriptions and poll == status.poll and _is_as_before(revision, status):
        return await show_again(change, status, change_id)
    await edits.keep_first(db, change.ids.next(), status.id)
    await _store_poll(change, status.poll, poll)
    edited_at = max(now, (status.edited_at or status.created_at) + SHORTEST)
    return await store_revision(change, status, revision, descriptions, edited_at)


def _refuse(account: AccountActor, message: EditStatus, status: Status, attached: dict[int, Media]) -> Refused | None:
    if status.quote_state is not None and (message.media_ids or message.poll is not None):
        return invalid(BESIDE_A_QUOTE)
    if (wrong := complaint(message.media_ids, attached, account.id, status.id)) is not None:
        return Refused(422, wrong)
    if message.poll is not None and message.poll.seconds is None and status.poll is None:
        return NO_DEADLINE
    return None


def _revise(status: Status, message: EditStatus, written: StatusBody, poll: Poll | None) -> Revision:
    named = written.mentioned_ids
    return Revision(
        status_id=status.id,
        text=written.text,
        content=written.content,
        content_type=written.content_type,
        spoiler_text=written.spoiler_text,
        sensitive=message.sensitive or bool(message.spoiler_text),
        language=language_code(message.language) or status.language,
        mentioned_ids=named,
        silent_mention_ids=tuple(id for id in status.mentioned_ids if id not in named),
        tags=written.tags,
        media_ids=message.media_ids,
        poll_id=poll.id if poll is not None else None,
    )


def _is_as_before(revision: Revision, status: Status) -> bool:
    """True if the author's input is the same as before.

    Its HTML is not compared: it may change with the server's version.
    """
    return (
        revision.text == status.text
        and revision.content_type == status.content_type
        and revision.spoiler_text == status.spoiler_text
        and revision.sensitive == status.sensitive
        and revision.language == status.language
        and revision.media_ids == status.media_ids
    )


def _poll_after(account: AccountActor, status: Status, terms: PollTerms | None, now: datetime) -> Poll | None:
    """Return the poll as it will be. Other options, or another way to choose, discard all votes."""
    if terms is None:
        return None
    before = status.poll
    expires_at = before.expires_at if before is not None else None
    if terms.seconds is not None:
        expires_at = now + timedelta(seconds=terms.seconds)
    if before is not None and _asks_the_same(before, terms.multiple, terms.options):
        return Poll(
            before.id, account.id, before.multiple, terms.hide_totals, before.voters_count, expires_at, before.options
        )  # fmt: skip
    id = before.id if before is not None else account.context.ids.next()
    options = tuple(Option(title, 0) for title in terms.options)
    return Poll(id, account.id, terms.multiple, terms.hide_totals, 0, expires_at, options)


def _asks_the_same(before: Poll, multiple: bool, titles: tuple[str, ...]) -> bool:
    """True if an edit keeps the votes. `received_statuses.py` has the rule for polls of other servers."""
    return multiple == before.multiple and titles == _titles(before)


def _titles(poll: Poll) -> tuple[str, ...]:
    return tuple(option.title for option in poll.options)


async def _store_poll(change: AccountChange, before: Poll | None, after: Poll | None) -> None:
    """Store the poll, and replace its reminder."""
    db, account_id, now = change.db, change.account.id, change.now
    if after == before:
        return
    if before is not None:
        await forget_poll(db, before.id)
    if after is not None and before is None:
        terms = (_titles(after), after.multiple, after.hide_totals, after.expires_at)
        await polls.insert(db, NewPoll(after.id, account_id, *terms), now)
    elif after is not None and before is not None:
        await polls.change(db, after, reset=not _asks_the_same(before, after.multiple, _titles(after)), now=now)
    elif before is not None:
        await polls.delete(db, before.id)
    if after is not None and after.expires_at is not None:
        change.promise(poll_ends(after.id, account_id, after.expires_at))


async def store_revision(
    change: AccountChange, status: Status, revision: Revision, descriptions: list[Description], edited_at: datetime
) -> None:
    """Store a new state of a locked status, and everything that it brings about.

    `edited_at` is later than the time of the state before: other servers know the last state by it.
    """
    db, account, ids = change.db, change.account, change.ids
    edit_id = ids.next()
    for new in descriptions:
        await media.describe(db, new.media_id, new.text, new.focus, None, change.now)
    await edits.revise(db, edit_id, revision, edited_at)
    await notifications.withdraw_updates(db, status.id)
    rebloggers = await reblogs.rebloggers(db, status.id)
    news = [NewNotification(ids.next(), id, account.id, "mention", status.id) for id in revision.mentioned_ids]
    news += [NewNotification(ids.next(), id, account.id, "update", status.id) for id in rebloggers]
    news += await _news_for_quoting(change, status)
    added = await notifications.insert_many(db, news, change.now)
    await _publish_edit(change, status, edit_id, rebloggers)
    change.publish(*map(AddedNotification.of, added))
    # Only accounts that are mentioned since this edit are notified of a mention.
    await add_to_conversations(change, status, [row.account_id for row in added if row.type == "mention"])
    await _preview(change, replace(status, content=revision.content, media_ids=revision.media_ids))
    change.promise(*await send_edit(db, account, status.id))
    await statuses.store_words(db, [status.id])  # without the card that an edit has taken away


async def _news_for_quoting(change: AccountChange, status: Status) -> list[NewNotification]:
    """Return notifications for the accounts that quote a status. They replace those of earlier edits."""
    if not status.quotes_count:
        return []
    quoting = await quotes.quoting(change.db, status.id)
    await quotes.withdraw_updates(change.db, [id for id, _ in quoting])
    ids = change.ids
    return [NewNotification(ids.next(), by, change.account.id, "quoted_update", id) for id, by in quoting]


async def _preview(change: AccountChange, status: Status) -> None:
    """Remove the card if the status has another link now, and promise the card of this link."""
    base_url = change.context.base_url
    if status.card is not None:
        link = link_of(status, base_url)
        if link is None or link.url != status.card.url:
            await preview_cards.detach(change.db, status.id)
    if change.context.outbox.executes(PREVIEWS):
        change.promise(*preview_of(status, base_url))
