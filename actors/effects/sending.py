"""Telling other servers of what changes often, or is changed without the account's turn: profiles, states, tallies.

What is sent is rendered from the rows as they are then, in a turn of the account.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import outbox
from ...storage.engine.database import Connection
from ..broadcast.broadcast import account_address
from ..kernel import SystemMessage
from ..promises import Effect, Promise
from .registry import ANNOUNCEMENTS, Attempt, EffectContext, carries_out


@dataclass(frozen=True, slots=True)
class SendAccountNow(SystemMessage[None]):
    """To a local account: tell other servers how it is."""


@dataclass(frozen=True, slots=True)
class SendDeletionNow(SystemMessage[None]):
    """To a deleted local account: tell some more servers of it, those whose inboxes sort `after` one."""

    after: str


@dataclass(frozen=True, slots=True)
class SendTalliesNow(SystemMessage[None]):
    """To a local account: tell other servers of the votes in a poll of its own."""

    status_id: int


@dataclass(frozen=True, slots=True)
class RotateKeyNow(SystemMessage[None]):
    """To a local account: sign with another key, and tell other servers."""


@dataclass(frozen=True, slots=True)
class RotateKey(Effect):
    """Give an account another key to sign with."""

    account: int


@dataclass(frozen=True, slots=True)
class SendAccount(Effect):
    """Tell other servers how an account is: its profile, that it is suspended, or deleted."""

    account: int


@dataclass(frozen=True, slots=True)
class SendDeletion(Effect):
    """Tell other servers that an account is deleted, those whose inboxes sort `after` one. The others know it."""

    account: int
    after: str


@dataclass(frozen=True, slots=True)
class SendTallies(Effect):
    """Tell other servers of the votes in the poll of a status of `account`."""

    status_id: int
    account: int


def account_changed(account_id: int) -> Promise:
    """Promise to tell other servers of a change of an account."""
    return Promise(SendAccount(account_id), telling(account_id), account=account_id)


def deletion_continues(account_id: int, after: str) -> Promise:
    """Promise to tell the next servers of a deleted account."""
    return Promise(SendDeletion(account_id, after), telling(account_id), account=account_id)


def telling(account_id: int) -> str:
    """Return the key of the promises to tell other servers of an account."""
    return f"send_account/{account_id}"


def key_rotates(account_id: int) -> Promise:
    """Promise to give an account another key."""
    return Promise(RotateKey(account_id), f"rotate_key/{account_id}", account=account_id)


async def tallies_changed(db: Connection, status_id: int, account_id: int, due_at: datetime) -> list[Promise]:
    """Promise to tell other servers of votes, unless that is promised already: many votes are one Update."""
    return [] if await outbox.waits(db, _tallies(status_id)) else [_tell_tallies(status_id, account_id, due_at)]


async def tallies_final(db: Connection, status_id: int, account_id: int) -> Promise:
    """Promise to tell other servers of the outcome of a poll, at once and in place of what was promised before."""
    await outbox.forget(db, _tallies(status_id))
    return _tell_tallies(status_id, account_id, None)


def _tell_tallies(status_id: int, account_id: int, due_at: datetime | None) -> Promise:
    return Promise(SendTallies(status_id, account_id), _tallies(status_id), due_at, account=account_id)


def _tallies(status_id: int) -> str:
    return f"tallies/{status_id}"


@carries_out("send_account", SendAccount, ANNOUNCEMENTS)
async def send_account(context: EffectContext, effect: SendAccount, attempt: Attempt) -> None:
    await context.runtime.ask(account_address(effect.account), SendAccountNow(), origin=attempt.origin)


@carries_out("send_deletion", SendDeletion, ANNOUNCEMENTS)
async def send_deletion(context: EffectContext, effect: SendDeletion, attempt: Attempt) -> None:
    await context.runtime.ask(account_address(effect.account), SendDeletionNow(effect.after), origin=attempt.origin)


@carries_out("tallies", SendTallies, ANNOUNCEMENTS)
async def send_tallies(context: EffectContext, effect: SendTallies, attempt: Attempt) -> None:
    await context.runtime.ask(account_address(effect.account), SendTalliesNow(effect.status_id), origin=attempt.origin)


@carries_out("rotate_key", RotateKey, ANNOUNCEMENTS)
async def rotate_key(context: EffectContext, effect: RotateKey, attempt: Attempt) -> None:
    await context.runtime.ask(account_address(effect.account), RotateKeyNow(), origin=attempt.origin)
