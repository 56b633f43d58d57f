"""Sending an account and its polls to other servers, in the turn of the account."""

from __future__ import annotations

from ...storage.federation import activities, signing_keys
from ..account import AccountActor, AccountChange
from ..activitypub.keys import make_key, private_pem, public_pem
from ..effects.sending import RotateKeyNow, SendAccountNow, SendDeletionNow, SendTalliesNow
from ..facts.accounts import ChangedAccount, RotatedKey
from ..kernel import turn
from ..sending.accounts import send_account, send_deletion
from ..sending.statuses import send_update


@turn(AccountActor, SendAccountNow)
async def send_account_now(account: AccountActor, message: SendAccountNow) -> None:
    await account.change(_send_account)


@turn(AccountActor, SendDeletionNow)
async def send_deletion_now(account: AccountActor, message: SendDeletionNow) -> None:
    await account.change(_send_deletion, message.after)


@turn(AccountActor, SendTalliesNow)
async def send_tallies_now(account: AccountActor, message: SendTalliesNow) -> None:
    await account.change(_send_tallies, message.status_id)


@turn(AccountActor, RotateKeyNow)
async def rotate_key_now(account: AccountActor, message: RotateKeyNow) -> None:
    key = await make_key()
    await account.change(_rotate, private_pem(key), public_pem(key))


async def _rotate(change: AccountChange, private_key: str, public_key: str) -> None:
    """Replace the key. Pending activities, and the Update with the new key, are signed with the old key."""
    db, account_id = change.db, change.account.id
    change.publish(ChangedAccount(account_id), RotatedKey(account_id))
    former = await signing_keys.replace(db, account_id, private_key, public_key)
    if former is not None:
        change.promise(*await send_account(db, change.context, account_id))
        await activities.keep_key(db, account_id, former)


async def _send_account(change: AccountChange) -> None:
    change.promise(*await send_account(change.db, change.context, change.account.id))


async def _send_deletion(change: AccountChange, after: str) -> None:
    change.promise(*await send_deletion(change.db, change.context, change.account.id, after))


async def _send_tallies(change: AccountChange, status_id: int) -> None:
    change.promise(*await send_update(change.db, change.context, status_id))
