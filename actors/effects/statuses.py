"""Telling timelines of a status that appeared, was edited or went, and forgetting its old counts."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import deletions, edits, reblogs
from .registry import ANNOUNCEMENTS, Attempt, Effect, EffectContext, Promise, carries_out, told_by


@dataclass(frozen=True, slots=True)
class AnnounceStatus(Effect):
    """Tell of a status of `account`, or of its deletion."""

    id: int
    account: int

    @property
    def crowding(self) -> int:
        return self.id


@dataclass(frozen=True, slots=True)
class AnnounceEdit(Effect):
    """Tell of the latest edit of a status."""

    id: int

    @property
    def crowding(self) -> int:
        return self.id


@dataclass(frozen=True, slots=True)
class ForgetCounts(Effect):
    """Read the counts of a status again when they are needed."""

    id: int


def status_changed(id: int, account_id: int) -> Promise:
    """Promise to tell of a status that appeared, changed or went."""
    return told_by(account_id, AnnounceStatus(id, account_id))


def status_edited(id: int, account_id: int) -> Promise:
    """Promise to tell of a status that its author edited."""
    return told_by(account_id, AnnounceEdit(id))


def counts_changed(id: int, account_id: int) -> Promise:
    """Promise to forget a status's counts as they were before `account_id` changed them."""
    return told_by(account_id, ForgetCounts(id))


@carries_out("status", AnnounceStatus, ANNOUNCEMENTS)
async def announce_status(context: EffectContext, effect: AnnounceStatus, attempt: Attempt) -> None:
    context.statuses.drop(effect.id)
    shown = await context.statuses.show(effect.id)
    if shown is None:
        context.statuses.delete(effect.id)
        remains = await context.database.read(deletions.remains, effect.id)
        if remains is not None:
            context.broadcast.gone(effect.id, effect.account, remains, attempt.origin)
    elif not context.statuses.is_deleted(effect.id):
        context.broadcast.published(shown, attempt.origin)


@carries_out("edit", AnnounceEdit, ANNOUNCEMENTS)
async def announce_edit(context: EffectContext, effect: AnnounceEdit, attempt: Attempt) -> None:
    rebloggers = await context.database.read(reblogs.rebloggers, effect.id)
    latest = await context.database.read(edits.latest, [effect.id], 0)
    context.statuses.drop(effect.id)  # only now: what is shown must not be older than the edit it is shown for
    shown = await context.statuses.show(effect.id)
    if shown is not None and effect.id in latest and not context.statuses.is_deleted(effect.id):
        context.broadcast.edited(shown, latest[effect.id], rebloggers, attempt.origin)


@carries_out("counts", ForgetCounts, ANNOUNCEMENTS)
async def forget_counts(context: EffectContext, effect: ForgetCounts, attempt: Attempt) -> None:
    context.statuses.drop(effect.id)
