"""Removing files of the media folder that no row names any more, and withholding files of suspended accounts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...storage import accounts, media
from ...storage.accounts import Account
from ..promises import Effect, Promise
from .registry import MAIN_QUEUE, Attempt, EffectContext, executes

FILES_AT_ONCE = 200  # attachments whose files are moved by one call of a thread
# One effect of this group is executed at a time: a media store that is slow or away takes only one worker.
GROUP = "files"


@dataclass(frozen=True, slots=True)
class RemoveFiles(Effect):
    """Remove the files with these names."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlaceFiles(Effect):
    """Withhold the files of an account if it is suspended, else serve them."""

    account: int


def files_unused(names: Iterable[str]) -> Promise:
    """Return the promise to remove files. A turn never removes them itself."""
    return Promise(RemoveFiles(tuple(sorted(names))), group=GROUP)


@executes("files", RemoveFiles, MAIN_QUEUE)
async def remove_files(context: EffectContext, effect: RemoveFiles, attempt: Attempt) -> None:
    if context.folder is not None:
        await context.folder.in_thread(context.folder.remove, effect.names)


def files_placed(account_id: int) -> Promise:
    """Return the promise to serve or withhold the files of an account, by its row at that time."""
    return Promise(PlaceFiles(account_id), f"files/{account_id}", account=account_id, group=GROUP)


@executes("place_files", PlaceFiles, MAIN_QUEUE)
async def place_files(context: EffectContext, effect: PlaceFiles, attempt: Attempt) -> None:
    """Move all files of the account. A later change of its state has a promise of its own."""
    row = (await context.database.read(accounts.find_many, [effect.account])).get(effect.account)
    if row is None or context.folder is None:
        return
    move = context.folder.release if row.suspended_at is None else context.folder.withhold
    await context.folder.in_thread(move, pictures_of(row))
    last = 0
    while some := await context.database.read(media.of_account, effect.account, last, FILES_AT_ONCE):
        last = some[-1].id
        names = [name for medium in some for name in (medium.file, medium.thumbnail_file) if name is not None]
        await context.folder.in_thread(move, names)


def pictures_of(account: Account) -> set[str]:
    """Return the files of an account's avatar and header."""
    return {file for file in (account.avatar_file, account.header_file) if file is not None}
