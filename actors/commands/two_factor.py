"""Turning two-factor authentication on and off. A mail notifies the user of both."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import two_factor
from ..account import AccountActor, AccountChange
from ..effects.mail import notice
from ..kernel import Command, turn
from ..mail.templates import TWO_FACTOR_OFF, TWO_FACTOR_ON


@dataclass(frozen=True, slots=True)
class EnableTwoFactor(Command[bool]):
    """Command: turn it on with a secret, of which the code of `step` was seen. False if it was on."""

    secret: str
    step: int
    code_hashes: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class DisableTwoFactor(Command[None]):
    """Command: turn it off. The password and a code were checked."""


@turn(AccountActor, EnableTwoFactor)
async def enable(account: AccountActor, message: EnableTwoFactor) -> bool:
    return await account.change(_enable, message)


@turn(AccountActor, DisableTwoFactor)
async def disable(account: AccountActor, message: DisableTwoFactor) -> None:
    await account.change(_disable)


async def _enable(change: AccountChange, message: EnableTwoFactor) -> bool:
    db, account = change.db, change.account
    if not await two_factor.enable(db, account.id, message.secret, message.step, message.code_hashes, change.now):
        return False
    change.promise(notice(TWO_FACTOR_ON, account.owner))
    return True


async def _disable(change: AccountChange) -> None:
    if await two_factor.disable(change.db, change.account.id):
        change.promise(notice(TWO_FACTOR_OFF, change.account.owner))
