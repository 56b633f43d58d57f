"""The consequences of strikes and appeals: the statuses that a strike is about, and the mails."""

from __future__ import annotations

from dataclasses import dataclass

from ..broadcast.broadcast import account_address
from ..kernel import SystemCommand
from ..mail.sender import MailSender
from ..promises import Effect, Promise
from .mail import MAIL, undeliverable_is_given_up
from .registry import MAIN_QUEUE, Attempt, EffectContext, executes


@dataclass(frozen=True, slots=True)
class CarryOutStrike(Effect):
    """Remove the statuses of a strike, or mark them as sensitive. A strike that has ended changes none."""

    strike: int
    account: int


@dataclass(frozen=True, slots=True)
class ActOnStatuses(SystemCommand[None]):
    """To the account of a strike: remove its statuses that the strike names, or mark them as sensitive."""

    strike_id: int


@dataclass(frozen=True, slots=True)
class SendStrike(Effect):
    """Write to the user of `account` the decision of staff and its reason, from the rows at that time."""

    strike: int
    account: int


@dataclass(frozen=True, slots=True)
class SendAppeal(Effect):
    """Write to `account`: to a member of the staff about an appeal, or to the user about the decision."""

    strike: int
    account: int


def strike_carried_out(strike_id: int, account_id: int) -> Promise:
    """Return the promise to act on the statuses of a strike. The turn acts itself, unless it crashes."""
    return Promise(CarryOutStrike(strike_id, account_id), f"strike/{account_id}", account=account_id)


def strike_mail(strike_id: int, account_id: int) -> Promise:
    """Return the promise to send the user of an account a mail about a strike."""
    return Promise(SendStrike(strike_id, account_id), account=account_id)


def appeal_mail(strike_id: int, account_id: int) -> Promise:
    """Return the promise to send a mail about an appeal."""
    return Promise(SendAppeal(strike_id, account_id), account=account_id)


@executes("strike", CarryOutStrike, MAIN_QUEUE)
async def carry_out_strike(context: EffectContext, effect: CarryOutStrike, attempt: Attempt) -> None:
    await context.runtime.ask(account_address(effect.account), ActOnStatuses(effect.strike), origin=attempt.origin)


@executes("strike_mail", SendStrike, MAIL)
async def send_strike(sender: MailSender, effect: SendStrike, attempt: Attempt) -> None:
    with undeliverable_is_given_up():
        await sender.send_strike(effect.strike, effect.account, attempt.id, attempt.promised_at)


@executes("appeal_mail", SendAppeal, MAIL)
async def send_appeal(sender: MailSender, effect: SendAppeal, attempt: Attempt) -> None:
    with undeliverable_is_given_up():
        await sender.send_appeal(effect.strike, effect.account, attempt.id, attempt.promised_at)
