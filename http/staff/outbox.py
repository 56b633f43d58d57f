"""The page of the outbox: effects that were promised and are not carried out yet; tried again and dropped."""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import datetime
from typing import Any

from ...actors import repairs
from ...actors.kernel import Refused
from ...actors.masking import masked
from ...actors.rules.roles import Permission
from ...actors.rules.wording import number_of
from ...storage import outbox_upkeep
from ...storage.outbox_upkeep import ChosenEffects, WaitingEffect
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..intake.parameters import Flag, Ids, Input, Text
from ..intake.request import Request
from ..router import api
from .listing import Done, with_done, words_of
from .member import DangerousForm, Question, StaffForm, StaffMember, sentence_of, staff_member, staff_sender

PERMISSION = Permission.VIEW_DEVOPS
PATH = "/admin/outbox"
SHOWN = 100
AT_ONCE = 500  # effects that one form drops
DONE = {"retried": "They are tried now.", "dropped": "They were dropped."}


class EffectQuery(Done):
    """The effects to list."""

    queue: Text = ""
    kind: Text = ""
    failed: Flag = False

    def chosen(self) -> ChosenEffects:
        return ChosenEffects(None, self.queue.strip() or None, self.kind.strip() or None, self.failed)


class ChosenForm(Input):
    """Effects by their ids; without any, all that failed."""

    ids: Ids = ()

    def chosen(self) -> ChosenEffects:
        return ChosenEffects(self.ids) if self.ids else ChosenEffects(failed=True)


class RetryForm(StaffForm, ChosenForm):
    """Effects to try now."""


class DropForm(DangerousForm, ChosenForm):
    """Effects to drop."""


@api.get(PATH, page=True)
async def show(context: HttpContext, request: Request, wanted: EffectQuery) -> Answer:
    """Show effects, the oldest first."""
    me = await staff_member(context, request, PERMISSION)
    return await _page(me, wanted, done=words_of(wanted, DONE))


@api.post(f"{PATH}/retry", page=True)
async def retry(context: HttpContext, request: Request, posted: RetryForm) -> Answer:
    """Have effects tried now that failed."""
    me = await staff_sender(context, request, posted, PERMISSION)
    return await _after(me, me.act(repairs.retry_effects, posted.chosen()), "retried")


@api.post(f"{PATH}/drop", page=True)
async def drop(context: HttpContext, request: Request, posted: DropForm) -> Answer:
    """Give effects up."""
    me = await staff_sender(context, request, posted, PERMISSION)
    count = number_of(len(posted.ids), "effects") if posted.ids else "all effects that failed"
    warning = "What they promise is not done: mails are not sent, other servers are not told, files are not removed."
    repeated = [("ids[]", str(id)) for id in posted.ids]
    if (asking := await me.confirmed(posted, Question(f"Drop {count}", warning, "Drop", PATH), repeated)) is not None:
        return asking
    return await _after(me, me.act(repairs.drop_effects, posted.chosen(), AT_ONCE), "dropped")


async def _after(me: StaffMember, act: Awaitable[int], words: str) -> Answer:
    try:
        done = await act
    except Refused as refused:
        return await _page(me, EffectQuery(), problem=sentence_of(refused))
    if not done:
        return await _page(me, EffectQuery(), problem="None of them waits for another try now.")
    return redirect(with_done(PATH, words))


# `Any`: facts of a template.
async def _page(me: StaffMember, wanted: EffectQuery, **facts: Any) -> Answer:
    context, now = me.context, me.context.clock.now()
    found = await context.database.read(outbox_upkeep.waiting, wanted.chosen(), SHOWN)
    return me.page(
        "outbox.html",
        wanted=wanted,
        effects=[(one, _state(one, now), _error(me, one), masked(one.payload)) for one in found],
        most=SHOWN,
        **facts,
    )


def _error(me: StaffMember, one: WaitingEffect) -> str:
    return "" if one.error is None else me.context.operations.without_texts(one.error)


def _state(one: WaitingEffect, now: datetime) -> str:
    if one.claimed_until is not None and one.claimed_until > now:
        return "carried out"
    return "due" if one.due_at <= now else "failed" if one.error else "later"
