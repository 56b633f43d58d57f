"""Turning two-factor authentication on and off. A mail tells of both."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import two_factor
from ...storage.engine.database import Connection
from ..account import AccountActor
from ..effects.mail import MAIL, notice
from ..kernel import Message, Origin, turn
from ..mail.templates import TWO_FACTOR_OFF, TWO_FACTOR_ON


@dataclass(frozen=True, slots=True)
class EnableTwoFactor(Message[bool]):
    """Command: turn it on with a secret, of which the code of `step` was seen. False if it was on."""

    secret: str
    step: int
    code_hashes: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class DisableTwoFactor(Message[None]):
    """Command: turn it off. The password and a code were checked."""


@turn(AccountActor, EnableTwoFactor)
async def enable(account: AccountActor, message: EnableTwoFactor) -> bool:
    enabled = await account.transact(_enable, account, message, account.now, account.origin)
    account.context.outbox.wake(MAIL)
    return enabled


@turn(AccountActor, DisableTwoFactor)
async def disable(account: AccountActor, message: DisableTwoFactor) -> None:
    await account.transact(_disable, account, account.origin)
    account.context.outbox.wake(MAIL)


async def _enable(
    db: Connection, account: AccountActor, message: EnableTwoFactor, now: datetime, origin: Origin
) -> bool:
    if not await two_factor.enable(db, account.id, message.secret, message.step, message.code_hashes, now):
        return False
    await account.context.outbox.promise(db, [notice(TWO_FACTOR_ON, account.owner)], origin)
    return True


async def _disable(db: Connection, account: AccountActor, origin: Origin) -> None:
    if await two_factor.disable(db, account.id):
        await account.context.outbox.promise(db, [notice(TWO_FACTOR_OFF, account.owner)], origin)
