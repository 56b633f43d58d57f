"""The page of the outbox: effects that are not executed yet. They can be retried and dropped."""

from __future__ import annotations

from datetime import datetime

from ...actors.housekeeping.masking import masked
from ...actors.kernel import Refused
from ...actors.rules.roles import Permission
from ...actors.rules.wording import number_of
from ...actors.staff import repairs
from ...storage.upkeep import outbox_upkeep
from ...storage.upkeep.outbox_upkeep import ChosenEffects, WaitingEffect
from ..intake.parameters import Flag, Ids, Input, Text
from .member import DangerousForm, Question, StaffForm, StaffMember
from .staff_page import Done, Facts, StaffPage

PATH = "/admin/outbox"
SHOWN = 100
AT_ONCE = 500  # effects that a form drops
NOTHING_DONE = "None of them waits for another try now."
OUTBOX = StaffPage(PATH, Permission.VIEW_DEVOPS, {"retried": "They are tried now.", "dropped": "They were dropped."})


class EffectQuery(Done):
    """The filters of the list."""

    queue: Text = ""
    kind: Text = ""
    failed: Flag = False

    def chosen(self) -> ChosenEffects:
        return ChosenEffects(None, self.queue.strip() or None, self.kind.strip() or None, self.failed)


class ChosenForm(Input):
    """Effects by their ids; without ids, all failed effects."""

    ids: Ids = ()

    def chosen(self) -> ChosenEffects:
        return ChosenEffects(self.ids) if self.ids else ChosenEffects(failed=True)


class RetryForm(StaffForm, ChosenForm):
    """Effects to try now."""


class DropForm(DangerousForm, ChosenForm):
    """Effects to drop."""


@OUTBOX.get("outbox.html")
async def show(me: StaffMember, wanted: EffectQuery) -> Facts:
    """Show effects, the oldest first."""
    found = await me.context.database.read(outbox_upkeep.waiting, wanted.chosen(), SHOWN)
    now = me.context.clock.now()
    return {
        "wanted": wanted,
        "effects": [(effect, _state(effect, now), _error(me, effect), masked(effect.payload)) for effect in found],
        "most": SHOWN,
    }


@OUTBOX.post("/retry")
async def retry(me: StaffMember, posted: RetryForm) -> str:
    """Retry failed effects now."""
    if not await me.act(repairs.retry_effects, posted.chosen()):
        raise Refused(422, NOTHING_DONE)
    return "retried"


@OUTBOX.post("/drop")
async def drop(me: StaffMember, posted: DropForm) -> str:
    """Drop effects."""
    count = number_of(len(posted.ids), "effects") if posted.ids else "all effects that failed"
    warning = (
        "Dropped effects are never executed: mails are not sent, other servers are not notified, files are not removed."
    )
    repeated = [("ids[]", str(id)) for id in posted.ids]
    await me.confirm(posted, Question(f"Drop {count}", warning, "Drop", PATH), repeated)
    if not await me.act(repairs.drop_effects, posted.chosen(), AT_ONCE):
        raise Refused(422, NOTHING_DONE)
    return "dropped"


def _error(me: StaffMember, effect: WaitingEffect) -> str:
    return "" if effect.error is None else me.context.operations.without_texts(effect.error)


def _state(effect: WaitingEffect, now: datetime) -> str:
    if effect.claimed_until is not None and effect.claimed_until > now:
        return "carried out"
    return "due" if effect.due_at <= now else "failed" if effect.error else "later"
