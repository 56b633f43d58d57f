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
from ..account import AccountActor, AccountChange
from ..change import Transaction
from ..effects.account_deletions import EraseRow, EraseSome, account_deleted
from ..effects.files import files_unused
from ..effects.mail import notice
from ..effects.sending import account_changed
from ..facts.access import EndedAccess, RevokedToken
from ..facts.accounts import ChangedAccount, ChangedUser
from ..facts.fact import Fact
from ..kernel import Answer, Command, Refused, finished, turn
from ..mail.templates import ACCOUNT_DELETED
from ..staff.acts import LAST_OWNER
from .blocks import Unblock, unblock
from .favourites import Unfavourite, unfavourite
from .follow_requests import remove_followers
from .follows import Unfollow, unfollow
from .mutes import Unmute, unmute
from .statuses import DeleteStatus, delete_status

# A batch is one turn, which must not hold up the relay for long.
STATUSES_AT_ONCE = 20
ROWS_AT_ONCE = 50
PLAIN_ROWS_AT_ONCE = 1000  # of rows that only have to be deleted

# False if nothing of its kind was left.
Eraser: TypeAlias = Callable[[AccountActor], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class DeleteAccount(Command[None]):
    """Command: delete the account. The password, and a code where it is needed, were checked."""


@turn(AccountActor, DeleteAccount)
async def delete_account(account: AccountActor, message: DeleteAccount) -> Refused | None:
    return await account.change(_delete)


async def delete_if_suspended(account: AccountActor, since: datetime) -> None:
    """Delete the account in this turn if it is still suspended since then."""
    await account.change(_delete_suspended, since)


async def _delete(change: AccountChange) -> Refused | None:
    db, account_id = change.db, change.account.id
    # The account before the turn of owners, as acts of staff lock them.
    if await moderation.lock(db, account_id) is not None and await moderation.is_last_owner(db, account_id):
        return LAST_OWNER
    return await _delete_now(change)


async def _delete_suspended(change: AccountChange, since: datetime) -> None:
    state = await moderation.lock(change.db, change.account.id)
    if state is not None and state.suspended_at == since:
        await _delete_now(change)


async def _delete_now(change: AccountChange) -> None:
    """Delete the user and all access. Nothing if the account was deleted."""
    deleted = await mark_deleted(change, change.account.id)
    if deleted is not None:
        change.publish(*deletion_facts(change.account.id, deleted))


def deletion_facts(account_id: int, deleted: DeletedAccount) -> Sequence[Fact]:
    """Return the facts that end the streams and the tokens of a deleted account at once.

    Its posts and files go afterwards, in batches.
    """
    revoked = (RevokedToken(token_hash) for token_hash in deleted.revoked)
    return ChangedUser(account_id, None), ChangedAccount(account_id), *revoked


async def mark_deleted(work: Transaction, account_id: int) -> DeletedAccount | None:
    """Delete the user and all access, and promise the rest. None if the account was deleted."""
    user = await users.find_user(work.db, account_id)
    deleted = await account_deletions.mark(work.db, account_id, work.now)
    if deleted is None:
        return None
    work.promise(EndedAccess(account_id).promise())
    if not deleted.gone:
        work.promise(account_deleted(account_id), account_changed(account_id))
    if user is not None:
        work.promise(notice(ACCOUNT_DELETED, user))
    if deleted.files:
        work.promise(files_unused(deleted.files))
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
    """Delete a batch of the media and posts that deleted accounts keep, then the row. A local account's row stays."""
    return await account.change(_delete_row)


async def _delete_row(change: AccountChange) -> bool:
    db, account_id = change.db, change.account.id
    change.publish(ChangedAccount(account_id))
    if not await account_deletions.is_erasable(db, account_id):
        return False
    if gone := await account_deletions.delete_kept_media(db, account_id, PLAIN_ROWS_AT_ONCE):
        change.promise(files_unused(file for medium in gone for file in medium.files))
        return True
    if await account_deletions.delete_kept_statuses(db, account_id, PLAIN_ROWS_AT_ONCE):
        return True
    await account_deletions.delete_row(db, account_id)
    return False


async def _erase_statuses(account: AccountActor) -> bool:
    ids = await account.context.database.read(account_deletions.left, "statuses", account.id, STATUSES_AT_ONCE)
    for id in ids:
        await finished(delete_status(account, DeleteStatus(id, delete_media=True)))
    return bool(ids)


async def _erase_followers(account: AccountActor) -> bool:
    ids = await account.context.database.read(account_deletions.left, "followers", account.id, ROWS_AT_ONCE)
    if ids:
        await account.change(remove_followers, ids)
    return bool(ids)


def _eraser(kind: Kind, erase: Callable[[AccountActor, int], Answer[None]]) -> Eraser:
    """Return a function that deletes a batch of rows of a kind. `erase` deletes the row with an id."""

    async def erase_some_of(account: AccountActor) -> bool:
        ids = await account.context.database.read(account_deletions.left, kind, account.id, ROWS_AT_ONCE)
        for id in ids:
            await finished(erase(account, id))
        return bool(ids)

    return erase_some_of


async def _erase_media(account: AccountActor) -> bool:
    """Uploads that are in no status."""
    return await account.change(_delete_media)


async def _delete_media(change: AccountChange) -> bool:
    ids = await account_deletions.left(change.db, "media", change.account.id, ROWS_AT_ONCE)
    gone = await media.delete_many(change.db, ids) if ids else []
    if files := [file for medium in gone for file in medium.files]:
        change.promise(files_unused(files))
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
