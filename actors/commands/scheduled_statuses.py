"""Scheduled statuses, in the turn of their author. Clients compare the error texts.

Publishing deletes the row in the transaction that makes the status, so it happens once, however often the outbox
reminds the account. If the status can't be published as it was meant (its author may not post any more, the post it
answers, the post it quotes or a medium is gone, or it would mention an account that was not allowed), it stays in the
author's list after its time. The author can move or cancel it: a changed status is never published.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

from ...storage import idempotency, scheduled_statuses, users
from ...storage.engine.database import replaced
from ...storage.engine.json_values import JsonObject
from ...storage.polls import NewPoll
from ...storage.scheduled_statuses import NewScheduledStatus, ScheduledStatus
from ...storage.statuses import NewStatus, Status
from ..account import AccountActor, AccountChange
from ..effects.reminders import StatusDue, forget_reminder, reminder
from ..kernel import Command, Refused, turn
from ..refusals import NOT_FOUND
from ..rules import text
from ..rules.languages import language_code
from ..rules.limits import SCHEDULED_STATUSES, SCHEDULED_STATUSES_A_DAY
from ..rules.polls import PollTerms
from . import statuses
from .interacting import invalid
from .quoting import NO_QUOTED, refuse_quote

SOONEST = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class ScheduleStatus(Command[ScheduledStatus | Status | statuses.UnexpectedMentions]):
    """Command: publish at a time, in UTC.

    The answer is the ScheduledStatus, or the earlier result of the idempotency key. The default visibility is applied
    now, all other defaults when it is published. Mentions are checked now, and once more when it is published.
    """

    post: statuses.PublishStatus
    at: datetime


@dataclass(frozen=True, slots=True)
class MoveScheduledStatus(Command[ScheduledStatus]):
    """Command: publish at another time. The answer is the ScheduledStatus."""

    id: int
    at: datetime


@dataclass(frozen=True, slots=True)
class CancelScheduledStatus(Command[None]):
    """Command: cancel. Its media can be attached again."""

    id: int


@turn(AccountActor, ScheduleStatus)
async def schedule_status(
    account: AccountActor, message: ScheduleStatus
) -> ScheduledStatus | Status | statuses.UnexpectedMentions | Refused:
    post = message.post
    if post.in_reply_to_id is not None:
        parent = await statuses.find_original(account, post.in_reply_to_id)
        if parent is None:
            return await statuses.made_by(account, post.idempotency_key) or statuses.NO_PARENT
        post = replace(post, in_reply_to_id=parent.id)
    if post.quoted_status_id is not None:
        quoted = await statuses.find_original(account, post.quoted_status_id)
        refusal = NO_QUOTED if quoted is None else refuse_quote(quoted, account.current_perspective())
        if quoted is None or refusal is not None:
            return await statuses.made_by(account, post.idempotency_key) or refusal or NO_QUOTED
        post = replace(post, quoted_status_id=quoted.id)
    if post.allowed_mentions is not None:
        mentioned = await _mentioned(account, post)
        if unexpected := statuses.unexpected_mentions(account, mentioned, post.allowed_mentions):
            return await statuses.made_by(account, post.idempotency_key) or statuses.UnexpectedMentions(unexpected)
        post = replace(post, allowed_mentions=mentioned)
    post = replace(post, visibility=post.visibility or account.owner.default_privacy)
    new = NewScheduledStatus(
        account.context.ids.next(), account.id, message.at, params_of(post), post.media_ids, post.application_id
    )  # fmt: skip
    return await account.change(_schedule, new, post.idempotency_key)


async def _mentioned(account: AccountActor, post: statuses.PublishStatus) -> tuple[int, ...]:
    """Return the accounts that the text mentions today."""
    content_type, quotes = text.content_type(post.content_type), post.quoted_status_id is not None
    written = await statuses.write(account, post.text, post.spoiler_text, content_type, quotes=quotes)
    return written.mentioned_ids


async def _schedule(
    change: AccountChange, new: NewScheduledStatus, key: str | None
) -> ScheduledStatus | Status | Refused:
    """Store a scheduled status.

    The idempotency key is looked up first: on a repeat its time may be too near for a new status.
    """
    db, account, now = change.db, change.account, change.now
    if (earlier := await statuses.made_with(db, account.id, key, now)) is not None:
        return earlier
    total, that_day = await scheduled_statuses.count(db, account.id, new.scheduled_at)
    if complaints := [*about_time(new.scheduled_at, now), *about_total(total), *about_day(that_day)]:
        return invalid(", ".join(complaints))
    if new.media_ids and (refusal := await statuses.refuse_media(change, new.media_ids)) is not None:
        return refusal
    await scheduled_statuses.insert(db, new, now)
    if key is not None:
        await idempotency.insert(
            db, account.id, key, idempotency.KeyedStatus(scheduled_status_id=new.id), now, now - statuses.KEY_LIFETIME
        )
    await _remind(change, new.id, new.scheduled_at)
    return await scheduled_statuses.find(db, new.id, account.id) or NOT_FOUND


@turn(AccountActor, MoveScheduledStatus)
async def move_scheduled_status(account: AccountActor, message: MoveScheduledStatus) -> ScheduledStatus | Refused:
    return await account.change(_move, message)


async def _move(change: AccountChange, message: MoveScheduledStatus) -> ScheduledStatus | Refused:
    db, account = change.db, change.account
    if await scheduled_statuses.find(db, message.id, account.id) is None:
        return NOT_FOUND
    _, that_day = await scheduled_statuses.count(db, account.id, message.at, but=message.id)
    if complaints := [*about_time(message.at, change.now), *about_day(that_day)]:
        return invalid(", ".join(complaints))
    await scheduled_statuses.move(db, message.id, account.id, message.at)
    await _remind(change, message.id, message.at)
    return await scheduled_statuses.find(db, message.id, account.id) or NOT_FOUND


@turn(AccountActor, CancelScheduledStatus)
async def cancel_scheduled_status(account: AccountActor, message: CancelScheduledStatus) -> Refused | None:
    return await account.change(_cancel, message.id)


async def _cancel(change: AccountChange, id: int) -> Refused | None:
    if not await scheduled_statuses.delete(change.db, id, change.account.id, change.now):
        return NOT_FOUND
    await forget_reminder(change.db, change.account.id, StatusDue(id, ""))
    return None


async def _remind(change: AccountChange, id: int, at: datetime) -> None:
    """Replace the reminder by a reminder at this time."""
    due = StatusDue(id, at.isoformat())
    await forget_reminder(change.db, change.account.id, due)
    change.promise(reminder(change.account.id, due, at))


def about_time(at: datetime, now: datetime) -> Iterator[str]:
    if at <= now + SOONEST:
        yield "Scheduled at date must be in the future"


def about_total(total: int) -> Iterator[str]:
    if total >= SCHEDULED_STATUSES:
        yield f"You have exceeded the limit of {SCHEDULED_STATUSES} scheduled posts"


def about_day(that_day: int) -> Iterator[str]:
    if that_day >= SCHEDULED_STATUSES_A_DAY:
        yield f"You have exceeded the limit of {SCHEDULED_STATUSES_A_DAY} scheduled posts for today"


# The time has come -------------------------------------------------------------------------------------------------


@turn(AccountActor, StatusDue)
async def publish_due(account: AccountActor, message: StatusDue) -> None:
    """Publish if it is due by its row. The clock is not asked, so that a clock that was set back loses nothing."""
    due = await account.context.database.read(scheduled_statuses.find, message.id, account.id)
    if due is None or due.scheduled_at != datetime.fromisoformat(message.at) or not await _may_post(account):
        return
    post = post_of(due)
    parent = await statuses.find_original(account, post.in_reply_to_id) if post.in_reply_to_id is not None else None
    if post.in_reply_to_id is not None and parent is None:
        return
    quoted = await statuses.find_original(account, post.quoted_status_id) if post.quoted_status_id is not None else None
    if post.quoted_status_id is not None and quoted is None:
        return
    new = await statuses.compose(account, post, parent, quoted)
    if statuses.unexpected_mentions(account, statuses.named_by(new), post.allowed_mentions):
        return
    poll = statuses.poll_of(account, post.poll, new.poll_id)
    await account.change(_publish, due.id, new, quoted, poll)


async def _may_post(account: AccountActor) -> bool:
    """True if the rows allow it: the owner may be barred since this actor was loaded, or has moved."""
    user = await account.context.database.read(users.find_user, account.id)
    return user is not None and not user.inactive


async def _publish(
    change: AccountChange, id: int, new: NewStatus, quoted: Status | None, poll: NewPoll | None
) -> Refused | None:
    """Publish in place of the scheduled status, which stays if the status can't be published as it was meant."""
    await scheduled_statuses.delete(change.db, id, change.account.id, change.now)
    published = await statuses.store(change, new, quoted, poll, key=None)
    if isinstance(published, Refused):
        return published
    await idempotency.publish(change.db, change.account.id, id, published.id)
    return None


# What is kept ------------------------------------------------------------------------------------------------------


def params_of(post: statuses.PublishStatus) -> JsonObject:
    """Return the values that have no column of their own."""
    return {
        "text": post.text,
        "visibility": post.visibility,
        "sensitive": post.sensitive,
        "spoiler_text": post.spoiler_text,
        "language": language_code(post.language),
        "in_reply_to_id": post.in_reply_to_id,
        "quoted_status_id": post.quoted_status_id,
        "content_type": post.content_type,
        "quote_policy": post.quote_policy,
        "allowed_mentions": post.allowed_mentions,
        "poll": asdict(post.poll) if post.poll is not None else None,
    }


def post_of(due: ScheduledStatus) -> statuses.PublishStatus:
    poll = due.params["poll"]
    terms = PollTerms(**poll | {"options": tuple(poll["options"])}) if poll is not None else None
    allowed = due.params.get("allowed_mentions")  # missing in rows of versions that did not know it
    return statuses.PublishStatus(
        **replaced(
            due.params,
            poll=terms,
            allowed_mentions=None if allowed is None else tuple(allowed),
            media_ids=due.media_ids,
            application_id=due.application_id,
        )
    )
