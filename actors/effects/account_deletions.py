"""Erasing the rows of a deleted account, batch after batch, each in a turn of its actor."""

from __future__ import annotations

from dataclasses import dataclass

from ..broadcast.broadcast import account_address
from ..kernel import SystemCommand
from ..promises import Effect, Promise
from .registry import MAIN_QUEUE, Attempt, EffectContext, executes


@dataclass(frozen=True, slots=True)
class EraseSome(SystemCommand[bool]):
    """To a deleted account: erase a batch of its rows. The answer is False if there was none."""


@dataclass(frozen=True, slots=True)
class EraseRow(SystemCommand[bool]):
    """To an erased account of another server: delete a batch of the rows that deleted accounts keep, its own row last.

    The answer is False if there was none.
    """


@dataclass(frozen=True, slots=True)
class EraseAccount(Effect):
    """Erase all rows of a deleted account; `with_row` also its own row, so that it may be fetched again."""

    account: int
    with_row: bool = False


def account_deleted(account_id: int) -> Promise:
    """Return the promise to erase an account. Each batch is read from the rows, so that a crash loses nothing."""
    return Promise(EraseAccount(account_id), f"erase/{account_id}", account=account_id)


def account_purged(account_id: int) -> Promise:
    """Return the promise to erase an account of another server with its row."""
    return Promise(EraseAccount(account_id, with_row=True), f"erase/{account_id}", account=account_id)


@executes("erase", EraseAccount, MAIN_QUEUE)
async def erase_account(context: EffectContext, effect: EraseAccount, attempt: Attempt) -> None:
    address = account_address(effect.account)
    while await context.runtime.ask(address, EraseSome(), origin=attempt.origin):
        pass
    while effect.with_row and await context.runtime.ask(address, EraseRow(), origin=attempt.origin):
        pass
