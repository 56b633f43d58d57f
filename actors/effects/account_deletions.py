"""Erasing what a deleted account has left, one batch after the other, each in a turn of its actor."""

from __future__ import annotations

from dataclasses import dataclass

from ..broadcast import account_address
from ..kernel import SystemMessage
from .registry import ANNOUNCEMENTS, Attempt, Effect, EffectContext, Promise, carries_out


@dataclass(frozen=True, slots=True)
class EraseSome(SystemMessage[bool]):
    """To a deleted account: erase a batch. False if nothing was left."""


@dataclass(frozen=True, slots=True)
class EraseAccount(Effect):
    """Erase everything of an account that is deleted."""

    account: int


def account_deleted(account_id: int) -> Promise:
    """Promise to erase an account. The rows say what is left, so that a crash loses nothing."""
    return Promise(EraseAccount(account_id), f"erase/{account_id}", account=account_id)


@carries_out("erase", EraseAccount, ANNOUNCEMENTS)
async def erase_account(context: EffectContext, effect: EraseAccount, attempt: Attempt) -> None:
    while await context.runtime.ask(account_address(effect.account), EraseSome(), origin=attempt.origin):
        pass
