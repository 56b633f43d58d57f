"""Sending profiles, states, keys and tallies of polls to other servers.

These change often, or outside of the account's turns.

A turn of the account renders the activity from the rows at that time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import outbox
from ...storage.engine.database import Connection
from ..broadcast.broadcast import account_address
from ..kernel import SystemCommand
from ..promises import Effect, Promise
from .registry import MAIN_QUEUE, Attempt, EffectContext, executes


@dataclass(frozen=True, slots=True)
class SendAccountNow(SystemCommand[None]):
    """To a local account: send its profile and state to other servers."""


@dataclass(frozen=True, slots=True)
class SendDeletionNow(SystemCommand[None]):
    """To a deleted local account: send its deletion to the next servers, whose inboxes sort `after` this inbox."""

    after: str


@dataclass(frozen=True, slots=True)
class SendTalliesNow(SystemCommand[None]):
    """To a local account: send the votes in a poll of its own to other servers."""

    status_id: int


@dataclass(frozen=True, slots=True)
class RotateKeyNow(SystemCommand[None]):
    """To a local account: make a new key to sign with, and send it to other servers."""


@dataclass(frozen=True, slots=True)
class RotateKey(Effect):
    """Give an account a new key to sign with."""

    account: int


@dataclass(frozen=True, slots=True)
class SendAccount(Effect):
    """Send an account to other servers: its profile, its suspension, or its deletion."""

    account: int


@dataclass(frozen=True, slots=True)
class SendDeletion(Effect):
    """Send the deletion of an account to the servers whose inboxes sort `after` this inbox.

    All earlier servers have it.
    """

    account: int
    after: str


@dataclass(frozen=True, slots=True)
class SendTallies(Effect):
    """Send the votes in the poll of a status of `account` to other servers."""

    status_id: int
    account: int


def account_changed(account_id: int) -> Promise:
    """Return the promise to send a changed account to other servers."""
    return Promise(SendAccount(account_id), sending_key(account_id), account=account_id)


def deletion_continues(account_id: int, after: str) -> Promise:
    """Return the promise to send the deletion of an account to the next servers."""
    return Promise(SendDeletion(account_id, after), sending_key(account_id), account=account_id)


def sending_key(account_id: int) -> str:
    """Return the partition of the promises to send an account to other servers."""
    return f"send_account/{account_id}"


def key_rotates(account_id: int) -> Promise:
    """Return the promise to give an account a new key."""
    return Promise(RotateKey(account_id), f"rotate_key/{account_id}", account=account_id)


async def tallies_changed(db: Connection, status_id: int, account_id: int, due_at: datetime) -> list[Promise]:
    """Return the promise to send votes to other servers, unless it is promised already: many votes are one Update."""
    return [] if await outbox.waits(db, _tallies(status_id)) else [_sending_tallies(status_id, account_id, due_at)]


async def tallies_final(db: Connection, status_id: int, account_id: int) -> Promise:
    """Return the promise to send the result of a poll to other servers at once, in place of earlier promises."""
    await outbox.forget(db, _tallies(status_id))
    return _sending_tallies(status_id, account_id, None)


def _sending_tallies(status_id: int, account_id: int, due_at: datetime | None) -> Promise:
    return Promise(SendTallies(status_id, account_id), _tallies(status_id), due_at, account=account_id)


def _tallies(status_id: int) -> str:
    return f"tallies/{status_id}"


@executes("send_account", SendAccount, MAIN_QUEUE)
async def send_account(context: EffectContext, effect: SendAccount, attempt: Attempt) -> None:
    await context.runtime.ask(account_address(effect.account), SendAccountNow(), origin=attempt.origin)


@executes("send_deletion", SendDeletion, MAIN_QUEUE)
async def send_deletion(context: EffectContext, effect: SendDeletion, attempt: Attempt) -> None:
    await context.runtime.ask(account_address(effect.account), SendDeletionNow(effect.after), origin=attempt.origin)


@executes("tallies", SendTallies, MAIN_QUEUE)
async def send_tallies(context: EffectContext, effect: SendTallies, attempt: Attempt) -> None:
    await context.runtime.ask(account_address(effect.account), SendTalliesNow(effect.status_id), origin=attempt.origin)


@executes("rotate_key", RotateKey, MAIN_QUEUE)
async def rotate_key(context: EffectContext, effect: RotateKey, attempt: Attempt) -> None:
    await context.runtime.ask(account_address(effect.account), RotateKeyNow(), origin=attempt.origin)
