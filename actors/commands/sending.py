"""Telling other servers of an account and of its polls, in the turn of the account."""

from __future__ import annotations

from ...storage import activities, signing_keys
from ...storage.engine.database import Connection
from ..account import AccountActor
from ..activitypub.keys import make_key, private_pem, public_pem
from ..effects.sending import RotateKeyNow, SendAccountNow, SendDeletionNow, SendTalliesNow
from ..facts import ChangedAccount, RotatedKey
from ..kernel import Origin, turn
from ..sending.accounts import send_account, send_deletion
from ..sending.statuses import send_update


@turn(AccountActor, SendAccountNow)
async def send_account_now(account: AccountActor, message: SendAccountNow) -> None:
    await account.transact(_send_account, account, account.origin)
    account.context.outbox.wake()


@turn(AccountActor, SendDeletionNow)
async def send_deletion_now(account: AccountActor, message: SendDeletionNow) -> None:
    await account.transact(_send_deletion, account, message.after, account.origin)
    account.context.outbox.wake()


@turn(AccountActor, SendTalliesNow)
async def send_tallies_now(account: AccountActor, message: SendTalliesNow) -> None:
    await account.transact(_send_tallies, account, message.status_id, account.origin)


@turn(AccountActor, RotateKeyNow)
async def rotate_key_now(account: AccountActor, message: RotateKeyNow) -> None:
    key = await make_key()
    await account.transact(_rotate, account, private_pem(key), public_pem(key), account.origin)
    await account.publish(ChangedAccount(account.id), RotatedKey(account.id))


async def _rotate(db: Connection, account: AccountActor, private_key: str, public_key: str, origin: Origin) -> None:
    """Replace the key. What is on its way, and the Update that tells of the new key, is signed with the old one."""
    former = await signing_keys.replace(db, account.id, private_key, public_key)
    if former is not None:
        promises = await send_account(db, account.context, account.id)
        await activities.keep_key(db, account.id, former)
        await account.context.outbox.promise(db, promises, origin)


async def _send_account(db: Connection, account: AccountActor, origin: Origin) -> None:
    await account.context.outbox.promise(db, await send_account(db, account.context, account.id), origin)


async def _send_deletion(db: Connection, account: AccountActor, after: str, origin: Origin) -> None:
    await account.context.outbox.promise(db, await send_deletion(db, account.context, account.id, after), origin)


async def _send_tallies(db: Connection, account: AccountActor, status_id: int, origin: Origin) -> None:
    await account.context.outbox.promise(db, await send_update(db, account.context, status_id), origin)
