"""Telling timelines of a status that appeared, was edited or went, and forgetting its old counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...storage import deletions, edits, notifications, reblogs
from ..facts.statuses import ChangedStatus, DeletedStatus, EditedStatus, EndedQuotes, GoneStatus, PublishedStatus
from ..kernel import Address
from .registry import (
    ANNOUNCEMENTS,
    Attempt,
    Effect,
    EffectContext,
    Promise,
    account_of,
    carries_out,
    promised_with,
    told_by,
)


@dataclass(frozen=True, slots=True)
class AnnounceStatus(Effect):
    """Tell of a status of `account`, or of its deletion. What is `gone` was promised by its deletion.

    What is no `news` was there for some time, and is only known here since now.
    """

    id: int
    account: int
    gone: bool = False
    news: bool = True

    @property
    def status_for_timelines(self) -> int:
        return self.id


@dataclass(frozen=True, slots=True)
class AnnounceEdit(Effect):
    """Tell of the latest edit of a status, of the end of its quote, or of its new quote policy."""

    id: int

    @property
    def status_for_timelines(self) -> int:
        return self.id


@dataclass(frozen=True, slots=True)
class ForgetCounts(Effect):
    """Read the counts of a status again when they are needed."""

    id: int


def status_changed(id: int, account_id: int, *, news: bool = True) -> Promise:
    """Promise to tell of a status that appeared."""
    return told_by(account_id, AnnounceStatus(id, account_id, news=news))


def status_gone(id: int, account_id: int) -> Promise:
    """Promise to tell that a status was deleted."""
    return told_by(account_id, AnnounceStatus(id, account_id, gone=True))


def status_edited(id: int, account_id: int) -> Promise:
    """Promise to tell of a status that its author edited, or that has got a card or another quote policy."""
    return told_by(account_id, AnnounceEdit(id))


def counts_changed(id: int, account_id: int) -> Promise:
    """Promise to forget a status's counts as they were before `account_id` changed them."""
    return told_by(account_id, ForgetCounts(id))


@promised_with(PublishedStatus)
def _published(facts: Sequence[PublishedStatus], by: Address) -> Iterator[Promise]:
    return (status_changed(fact.id, account_of(by), news=fact.news) for fact in facts)


@promised_with(EditedStatus)
def _edited(facts: Sequence[EditedStatus], by: Address) -> Iterator[Promise]:
    return (status_edited(fact.id, account_of(by)) for fact in facts)


@promised_with(ChangedStatus)
def _counted(facts: Sequence[ChangedStatus], by: Address) -> Iterator[Promise]:
    return (counts_changed(id, account_of(by)) for id in dict.fromkeys(fact.id for fact in facts))


@promised_with(EndedQuotes)
def _quotes_ended(facts: Sequence[EndedQuotes], by: Address) -> Iterator[Promise]:
    ended = [quote for fact in facts for quote in fact.quotes]
    yield from (status_edited(quote.id, account_of(by)) for quote in ended)
    yield from (counts_changed(id, account_of(by)) for id in dict.fromkeys(quote.quoted_id for quote in ended))


@promised_with(DeletedStatus)
def _deleted(facts: Sequence[DeletedStatus], by: Address) -> Iterator[Promise]:
    for fact in facts:
        status = fact.deleted.status
        yield status_gone(status.id, account_of(by))
        yield from (status_gone(boost, booster) for boost, booster in fact.deleted.reblogs)
        counted = (status.in_reply_to_id, status.reblog_of_id, status.quote_of_id)
        yield from (counts_changed(id, account_of(by)) for id in counted if id is not None)


@carries_out("status", AnnounceStatus, ANNOUNCEMENTS, shown=True)
async def announce_status(context: EffectContext, effect: AnnounceStatus, attempt: Attempt) -> None:
    context.facts.cache([ChangedStatus(effect.id)])
    if await context.statuses.show(effect.id) is not None:
        await context.facts.apply([PublishedStatus(effect.id, news=effect.news)], attempt.origin)
    else:
        remains = await context.database.read(deletions.remains, effect.id)
        await context.facts.apply([GoneStatus(effect.id, effect.account, remains)], attempt.origin)


@carries_out("edit", AnnounceEdit, ANNOUNCEMENTS, shown=True)
async def announce_edit(context: EffectContext, effect: AnnounceEdit, attempt: Attempt) -> None:
    """The status is read again after its edits: it must not be older than the edit that it is shown for."""
    rebloggers = await context.database.read(reblogs.rebloggers, effect.id)
    notified = await context.database.read(notifications.mentioned, [effect.id])
    latest = await context.database.read(edits.latest, [effect.id], 0)
    if effect.id in latest:
        edited = EditedStatus(effect.id, latest[effect.id], rebloggers, notified.get(effect.id, ()))
        await context.facts.apply([edited], attempt.origin)


@carries_out("counts", ForgetCounts, ANNOUNCEMENTS)
async def forget_counts(context: EffectContext, effect: ForgetCounts, attempt: Attempt) -> None:
    await context.facts.apply([ChangedStatus(effect.id)], attempt.origin)
