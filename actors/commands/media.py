"""Media attachments, in the turn of their owner: stored, described, finished, deleted."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from ...storage import media
from ...storage.engine.database import Connection
from ...storage.media import Media, ProcessedMedia
from ..account import AccountActor
from ..effects.files import files_unused
from ..kernel import Message, Origin, Refused, turn

NOT_FOUND = Refused(404, "Record not found")
IN_USE = Refused(422, "Media attachment is currently used by a status")
FAILED = Refused(422, "Error processing thumbnail for uploaded media")
# Enough for the drafts of one person; it bounds what one account can keep on the disk unprocessed.
MOST_WAITING = 5
TOO_MANY_WAITING = Refused(429, f"At most {MOST_WAITING} uploads may wait for processing. Try again in a moment!")


def failed(medium: Media) -> Refused:
    """What the owner of a failed upload is told, with the reason if there is one for owners."""
    return FAILED if medium.failure is None else Refused(FAILED.status, f"{FAILED.text}: {medium.failure}")


@dataclass(frozen=True, slots=True)
class AddMedia(Message[Media]):
    """Command: store what is ready. Its files are in their places already."""

    made: ProcessedMedia
    description: str = ""
    focus: dict[str, float] | None = None


@dataclass(frozen=True, slots=True)
class AddWaitingMedia(Message[Media]):
    """Command: store what is still to be processed under an id that its upload bears already."""

    id: int
    type: str
    thumbnail: ProcessedMedia | None = None
    description: str = ""
    focus: dict[str, float] | None = None


@dataclass(frozen=True, slots=True)
class DescribeMedia(Message[Media]):
    """Command: change what may be changed while no status has it; None leaves as it is."""

    id: int
    description: str | None = None
    focus: dict[str, float] | None = None
    thumbnail: ProcessedMedia | None = None


@dataclass(frozen=True, slots=True)
class FinishMedia(Message[Media]):
    """Command: processing is over; `made` is None when it failed, for the reason given if it is one for owners."""

    id: int
    made: ProcessedMedia | None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteMedia(Message[Media]):
    """Command: delete what no status has."""

    id: int


@dataclass(frozen=True, slots=True)
class MediaChange:
    """What a transaction came to: the attachment as it is, or was; and files promised to be removed."""

    medium: Media
    promised: bool = field(default=False)


@turn(AccountActor, AddMedia)
async def add_media(account: AccountActor, message: AddMedia) -> Media:
    id = account.context.ids.next()
    return await account.transact(
        media.insert, id, account.id, message.made, message.description, message.focus, account.now
    )  # fmt: skip


@turn(AccountActor, AddWaitingMedia)
async def add_waiting_media(account: AccountActor, message: AddWaitingMedia) -> Media | Refused:
    return await account.transact(add_waiting, account.id, message, account.now)


async def add_waiting(db: Connection, account_id: int, message: AddWaitingMedia, now: datetime) -> Media | Refused:
    if await media.count_waiting(db, account_id) >= MOST_WAITING:
        return TOO_MANY_WAITING
    return await media.insert_waiting(
        db, message.id, account_id, message.type, message.thumbnail, message.description, message.focus, now
    )


@turn(AccountActor, DescribeMedia)
async def describe_media(account: AccountActor, message: DescribeMedia) -> Media | Refused:
    changed = await account.transact(describe, account, message, account.now, account.origin)
    return _told(account, changed)


async def describe(
    db: Connection, account: AccountActor, message: DescribeMedia, now: datetime, origin: Origin
) -> MediaChange | Refused:
    """An attached one is changed by an edit of its status."""
    medium = await _own(db, account, message.id)
    if medium is None or medium.taken:
        return NOT_FOUND
    if medium.state == "failed":
        return failed(medium)
    now_is = await media.describe(db, medium.id, message.description, message.focus, message.thumbnail, now)
    return MediaChange(now_is, await _discard(db, account, set(medium.files) - set(now_is.files), origin))


@turn(AccountActor, FinishMedia)
async def finish_media(account: AccountActor, message: FinishMedia) -> Media | Refused:
    changed = await account.transact(finish, account, message, account.now, account.origin)
    return _told(account, changed)


async def finish(
    db: Connection, account: AccountActor, message: FinishMedia, now: datetime, origin: Origin
) -> MediaChange | Refused:
    """Store the result of processing. Files of a deleted upload, or that their owner has replaced, are deleted."""
    made = message.made
    files = set[str]() if made is None else {file for file in (made.file, made.thumbnail_file) if file is not None}
    medium = await _own(db, account, message.id)
    if medium is None or medium.state != "waiting":
        await _discard(db, account, files - set(() if medium is None else medium.files), origin)
        return NOT_FOUND
    if made is None:
        await media.fail(db, medium.id, message.failure, now)
    else:
        await media.finish(db, medium.id, made, now)
    finished = await media.find(db, medium.id) or medium
    return MediaChange(finished, await _discard(db, account, files - set(finished.files), origin))


@turn(AccountActor, DeleteMedia)
async def delete_media(account: AccountActor, message: DeleteMedia) -> Media | Refused:
    changed = await account.transact(delete, account, message, account.now, account.origin)
    return _told(account, changed)


async def delete(
    db: Connection, account: AccountActor, message: DeleteMedia, now: datetime, origin: Origin
) -> MediaChange | Refused:
    medium = await _own(db, account, message.id)
    if medium is None:
        return NOT_FOUND
    if medium.taken:
        return IN_USE
    await media.delete_many(db, [medium.id])
    return MediaChange(medium, await _discard(db, account, set(medium.files), origin))


async def _own(db: Connection, account: AccountActor, id: int) -> Media | None:
    medium = (await media.lock(db, [id])).get(id)
    return medium if medium is not None and medium.account_id == account.id else None


async def _discard(db: Connection, account: AccountActor, files: set[str], origin: Origin) -> bool:
    """Promise to remove files; whether there were any. The outbox keeps the promise, never a turn."""
    if not files:
        return False
    await account.context.outbox.promise(db, [files_unused(files)], origin)
    return True


def _told(account: AccountActor, changed: MediaChange | Refused) -> Media | Refused:
    if isinstance(changed, Refused):
        return changed
    if changed.promised:
        account.context.outbox.wake()
    return changed.medium
