"""Telling other servers of an account and of its polls, in the turn of the account."""

from __future__ import annotations

from ...storage.engine.database import Connection
from ..account import AccountActor
from ..effects.sending import SendAccountNow, SendTalliesNow
from ..kernel import Origin, turn
from ..sending.accounts import send_account
from ..sending.statuses import send_update


@turn(AccountActor, SendAccountNow)
async def send_account_now(account: AccountActor, message: SendAccountNow) -> None:
    await account.transact(_send_account, account, account.origin)


@turn(AccountActor, SendTalliesNow)
async def send_tallies_now(account: AccountActor, message: SendTalliesNow) -> None:
    await account.transact(_send_tallies, account, message.status_id, account.origin)


async def _send_account(db: Connection, account: AccountActor, origin: Origin) -> None:
    await account.context.outbox.promise(db, await send_account(db, account.context, account.id), origin)


async def _send_tallies(db: Connection, account: AccountActor, status_id: int, origin: Origin) -> None:
    await account.context.outbox.promise(db, await send_update(db, account.context, status_id), origin)
