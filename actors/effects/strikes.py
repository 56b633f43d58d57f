"""The consequences of strikes and appeals: the statuses that a strike is about, and the mails."""

from __future__ import annotations

from dataclasses import dataclass

from ..broadcast.broadcast import account_address
from ..kernel import SystemMessage
from ..mail.sender import MailSender
from ..promises import Effect, Promise
from .mail import MAIL, undeliverable_is_given_up
from .registry import ANNOUNCEMENTS, Attempt, EffectContext, carries_out


@dataclass(frozen=True, slots=True)
class CarryOutStrike(Effect):
    """Remove the statuses that a strike is about, or mark them as sensitive; after its end, no longer."""

    strike: int
    account: int


@dataclass(frozen=True, slots=True)
class ActOnStatuses(SystemMessage[None]):
    """To the account of a strike: remove the statuses that it is about, or mark them as sensitive."""

    strike_id: int


@dataclass(frozen=True, slots=True)
class SendStrike(Effect):
    """Write to the user of `account` what staff decided and why, from the rows as they are then."""

    strike: int
    account: int


@dataclass(frozen=True, slots=True)
class SendAppeal(Effect):
    """Write to `account`, one of the staff, that a user appeals against a strike; or to the user what was decided."""

    strike: int
    account: int


def strike_carried_out(strike_id: int, account_id: int) -> Promise:
    """Promise to act on the statuses of a strike. The turn does it itself, unless it crashes."""
    return Promise(CarryOutStrike(strike_id, account_id), f"strike/{account_id}", account=account_id)


def strike_mail(strike_id: int, account_id: int) -> Promise:
    """Promise to send the user of an account a mail about a strike."""
    return Promise(SendStrike(strike_id, account_id), account=account_id)


def appeal_mail(strike_id: int, account_id: int) -> Promise:
    """Promise to send a mail about an appeal."""
    return Promise(SendAppeal(strike_id, account_id), account=account_id)


@carries_out("strike", CarryOutStrike, ANNOUNCEMENTS)
async def carry_out_strike(context: EffectContext, effect: CarryOutStrike, attempt: Attempt) -> None:
    await context.runtime.ask(account_address(effect.account), ActOnStatuses(effect.strike), origin=attempt.origin)


@carries_out("strike_mail", SendStrike, MAIL)
async def send_strike(sender: MailSender, effect: SendStrike, attempt: Attempt) -> None:
    with undeliverable_is_given_up():
        await sender.send_strike(effect.strike, effect.account, attempt.id, attempt.promised_at)


@carries_out("appeal_mail", SendAppeal, MAIL)
async def send_appeal(sender: MailSender, effect: SendAppeal, attempt: Attempt) -> None:
    with undeliverable_is_given_up():
        await sender.send_appeal(effect.strike, effect.account, attempt.id, attempt.promised_at)
