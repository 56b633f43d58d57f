"""Removing files of the media folder that no row names any more, and withholding those of suspended accounts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...storage import accounts, media
from ...storage.accounts import Account
from ..promises import Effect, Promise
from .registry import ANNOUNCEMENTS, Attempt, EffectContext, carries_out

FILES_AT_ONCE = 200  # attachments whose files are moved by one call of a thread
# Of this group one effect is carried out at a time: a store that is slow or away takes one lane, not all of them.
GROUP = "files"


@dataclass(frozen=True, slots=True)
class RemoveFiles(Effect):
    """Remove the files with these names."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlaceFiles(Effect):
    """Withhold the files of an account that is suspended, and serve those of an account that is not."""

    account: int


def files_unused(names: Iterable[str]) -> Promise:
    """Promise to remove files. A turn never removes them itself."""
    return Promise(RemoveFiles(tuple(sorted(names))), group=GROUP)


@carries_out("files", RemoveFiles, ANNOUNCEMENTS)
async def remove_files(context: EffectContext, effect: RemoveFiles, attempt: Attempt) -> None:
    if context.folder is not None:
        await context.folder.in_thread(context.folder.remove, effect.names)


def files_placed(account_id: int) -> Promise:
    """Promise to serve the files of an account, or not, as its row says then."""
    return Promise(PlaceFiles(account_id), f"files/{account_id}", account=account_id, group=GROUP)


@carries_out("place_files", PlaceFiles, ANNOUNCEMENTS)
async def place_files(context: EffectContext, effect: PlaceFiles, attempt: Attempt) -> None:
    """Move all files of the account. A state that changes meanwhile has promised this again."""
    row = (await context.database.read(accounts.find_many, [effect.account])).get(effect.account)
    if row is None or context.folder is None:
        return
    move = context.folder.release if row.suspended_at is None else context.folder.withhold
    await context.folder.in_thread(move, pictures_of(row))
    last = 0
    while some := await context.database.read(media.of_account, effect.account, last, FILES_AT_ONCE):
        last = some[-1].id
        names = [name for one in some for name in (one.file, one.thumbnail_file) if name is not None]
        await context.folder.in_thread(move, names)


def pictures_of(account: Account) -> set[str]:
    """Return the files of an account's avatar and header."""
    return {file for file in (account.avatar_file, account.header_file) if file is not None}
