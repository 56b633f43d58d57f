"""Deleting an account: first its user and all access, in one transaction; then everything else, in batches.

The first transaction hides the account and its statuses everywhere. The batches go through the same functions as the
commands of a living account, so that counts, timelines, streams and other accounts learn of each change.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from ...storage import account_deletions, accounts, media, moderation, users
from ...storage.account_deletions import DeletedAccount, Kind
from ...storage.engine.database import Connection
from ..account import AccountActor
from ..effects.access import access_ended
from ..effects.account_deletions import EraseRow, EraseSome, account_deleted
from ..effects.files import files_unused
from ..effects.mail import MAIL, notice
from ..effects.registry import Promise
from ..effects.sending import account_changed
from ..facts import ChangedAccount, ChangedUser, RevokedToken
from ..kernel import Answer, Message, Origin, Refused, finished, turn
from ..mail.templates import ACCOUNT_DELETED
from ..staff import LAST_OWNER
from .favourites import Unfavourite, unfavourite
from .follow_requests import remove_followers
from .pairs import publish_changes
from .relations import Unblock, Unfollow, Unmute, unblock, unfollow, unmute
from .statuses import DeleteStatus, delete_status

# A batch is one turn, which must not hold up the relay for long.
STATUSES_AT_ONCE = 20
ROWS_AT_ONCE = 50
PLAIN_ROWS_AT_ONCE = 1000  # of rows that only have to be deleted

# False if nothing of its kind was left.
Eraser: TypeAlias = Callable[[AccountActor], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class DeleteAccount(Message[None]):
    """Command: delete the account. The password, and a code where it is needed, were checked."""


@turn(AccountActor, DeleteAccount)
async def delete_account(account: AccountActor, message: DeleteAccount) -> Refused | None:
    deleted = await account.transact(_delete, account, account.now, account.origin)
    if isinstance(deleted, Refused):
        return deleted
    return None if deleted is None else await publish_deletion(account, deleted)


async def delete_if_suspended(account: AccountActor, since: datetime) -> None:
    """Delete the account in this turn if it is still suspended since then."""
    deleted = await account.transact(_delete_suspended, account, since, account.now, account.origin)
    if deleted is not None:
        await publish_deletion(account, deleted)


async def publish_deletion(account: AccountActor, deleted: DeletedAccount) -> None:
    """End the streams and the tokens of a deleted account at once. Its posts and files go afterwards, in batches."""
    await account.publish(
        ChangedUser(account.id, None),
        ChangedAccount(account.id),
        *(RevokedToken(token_hash) for token_hash in deleted.revoked),
    )
    account.context.outbox.wake()
    account.context.outbox.wake(MAIL)


async def _delete(
    db: Connection, account: AccountActor, now: datetime, origin: Origin
) -> DeletedAccount | Refused | None:
    # The account before the turn of owners, as acts of staff lock them.
    if await moderation.lock(db, account.id) is not None and await moderation.is_last_owner(db, account.id):
        return LAST_OWNER
    return await mark_deleted(
        db, account.id, now, lambda db, promises: account.context.outbox.promise(db, promises, origin)
    )


async def _delete_suspended(
    db: Connection, account: AccountActor, since: datetime, now: datetime, origin: Origin
) -> DeletedAccount | None:
    state = await moderation.lock(db, account.id)
    if state is None or state.suspended_at != since:
        return None
    return await mark_deleted(
        db, account.id, now, lambda db, promises: account.context.outbox.promise(db, promises, origin)
    )


async def mark_deleted(
    db: Connection,
    account_id: int,
    now: datetime,
    promise: Callable[[Connection, Sequence[Promise]], Awaitable[object]],
) -> DeletedAccount | None:
    """Delete the user and all access, in a transaction, and promise the rest. None if the account was deleted."""
    user = await users.find_user(db, account_id)
    deleted = await account_deletions.mark(db, account_id, now)
    if deleted is None:
        return None
    promises = [access_ended(account_id)]
    if not deleted.gone:
        promises += [account_deleted(account_id), account_changed(account_id)]
    if user is not None:
        promises.append(notice(ACCOUNT_DELETED, user))
    if deleted.files:
        promises.append(files_unused(deleted.files))
    await promise(db, promises)
    return deleted


# Erasing --------------------------------------------------------------------------------------------------------------


@turn(AccountActor, EraseSome)
async def erase_some(account: AccountActor, message: EraseSome) -> bool:
    """Erase a batch of the first kind of which there is something left. An account that is not deleted stays."""
    row = (await account.context.database.read(accounts.find_many, [account.id])).get(account.id)
    if row is None or row.deleted_at is None:
        return False
    for erase in ERASERS:
        if await erase(account):
            return True
    return await account.transact(account_deletions.delete_plain, account.id, PLAIN_ROWS_AT_ONCE)


@turn(AccountActor, EraseRow)
async def erase_row(account: AccountActor, message: EraseRow) -> bool:
    """Erase a batch of the media and posts that are kept of deleted accounts, then the row. A local one stays."""
    left = await account.transact(_delete_row, account, account.origin)
    await account.publish(ChangedAccount(account.id))
    account.context.outbox.wake()  # files
    return left


async def _delete_row(db: Connection, account: AccountActor, origin: Origin) -> bool:
    if not await account_deletions.is_erasable(db, account.id):
        return False
    if gone := await account_deletions.delete_kept_media(db, account.id, PLAIN_ROWS_AT_ONCE):
        files = [file for medium in gone for file in medium.files]
        await account.context.outbox.promise(db, [files_unused(files)], origin)
        return True
    if await account_deletions.delete_kept_statuses(db, account.id, PLAIN_ROWS_AT_ONCE):
        return True
    await account_deletions.delete_row(db, account.id)
    return False


async def _erase_statuses(account: AccountActor) -> bool:
    ids = await account.context.database.read(account_deletions.left, "statuses", account.id, STATUSES_AT_ONCE)
    for id in ids:
        await finished(delete_status(account, DeleteStatus(id, delete_media=True)))
    account.context.outbox.wake()  # files
    return bool(ids)


async def _erase_followers(account: AccountActor) -> bool:
    ids = await account.context.database.read(account_deletions.left, "followers", account.id, ROWS_AT_ONCE)
    if ids:
        await publish_changes(account, await account.transact(remove_followers, account, ids, account.origin))
    return bool(ids)


def _eraser(kind: Kind, erase: Callable[[AccountActor, int], Answer[None]]) -> Eraser:
    """Return what erases a batch of a kind: `erase` does it for the id of one."""

    async def erase_some_of(account: AccountActor) -> bool:
        ids = await account.context.database.read(account_deletions.left, kind, account.id, ROWS_AT_ONCE)
        for id in ids:
            await finished(erase(account, id))
        return bool(ids)

    return erase_some_of


async def _erase_media(account: AccountActor) -> bool:
    """Uploads that are in no status."""
    erased = await account.transact(_delete_media, account, account.origin)
    account.context.outbox.wake()
    return erased


async def _delete_media(db: Connection, account: AccountActor, origin: Origin) -> bool:
    ids = await account_deletions.left(db, "media", account.id, ROWS_AT_ONCE)
    gone = await media.delete_many(db, ids) if ids else []
    files = [file for medium in gone for file in medium.files]
    if files:
        await account.context.outbox.promise(db, [files_unused(files)], origin)
    return bool(ids)


ERASERS: Sequence[Eraser] = (
    _erase_statuses,
    _eraser("followed", lambda account, id: unfollow(account, Unfollow(id))),
    _erase_followers,
    _eraser("blocked", lambda account, id: unblock(account, Unblock(id))),
    _eraser("muted", lambda account, id: unmute(account, Unmute(id))),
    _eraser("favourites", lambda account, id: unfavourite(account, Unfavourite(id))),
    _erase_media,
)
