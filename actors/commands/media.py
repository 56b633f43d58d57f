"""Media attachments, in the turn of their owner: storing, describing, finishing and deleting them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from ...storage import media, moderation
from ...storage.engine.database import Connection
from ...storage.media import Media, ProcessedMedia
from ..account import AccountActor
from ..effects.files import files_placed, files_unused
from ..kernel import Message, Origin, Refused, SystemMessage, turn
from ..refusals import NOT_FOUND

IN_USE = Refused(422, "Media attachment is currently used by a status")
FAILED = Refused(422, "Error processing thumbnail for uploaded media")
# Enough for the drafts of one person. It limits the unprocessed files of one account on the disk.
MOST_WAITING = 5
TOO_MANY_WAITING = Refused(429, f"At most {MOST_WAITING} uploads may wait for processing. Try again in a moment!")


def failed(medium: Media) -> Refused:
    """Return the error for the owner of a failed upload, with the reason if its owner may see it."""
    return FAILED if medium.failure is None else Refused(FAILED.status, f"{FAILED.text}: {medium.failure}")


@dataclass(frozen=True, slots=True)
class AddMedia(Message[Media]):
    """Command: store a processed upload. Its files are in their places already."""

    made: ProcessedMedia
    description: str = ""
    focus: dict[str, float] | None = None


@dataclass(frozen=True, slots=True)
class AddWaitingMedia(Message[Media]):
    """Command: store an upload that waits for processing, under the id that its file has already.

    `node` is the node that has the file.
    """

    id: int
    type: str
    node: str
    thumbnail: ProcessedMedia | None = None
    description: str = ""
    focus: dict[str, float] | None = None


@dataclass(frozen=True, slots=True)
class DescribeMedia(Message[Media]):
    """Command: change an attachment that is in no published status. None leaves a value as it is."""

    id: int
    description: str | None = None
    focus: dict[str, float] | None = None
    thumbnail: ProcessedMedia | None = None


@dataclass(frozen=True, slots=True)
class FinishMedia(SystemMessage[Media]):
    """Command: end the processing of an upload.

    `made` is None if it failed, `failure` the reason if its owner may see it.
    """

    id: int
    made: ProcessedMedia | None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteMedia(Message[Media]):
    """Command: delete an attachment that is in no status."""

    id: int


@dataclass(frozen=True, slots=True)
class MediaChange:
    """The outcome of a transaction: the attachment as it is or was, and whether files are to be removed or moved."""

    medium: Media
    promised: bool = field(default=False)


@turn(AccountActor, AddMedia)
async def add_media(account: AccountActor, message: AddMedia) -> Media | Refused:
    return _told(account, await account.transact(add, account, message, account.now, account.origin))


async def add(db: Connection, account: AccountActor, message: AddMedia, now: datetime, origin: Origin) -> MediaChange:
    id = account.context.ids.next()
    medium = await media.insert(db, id, account.id, message.made, message.description, message.focus, now)
    return MediaChange(medium, await _withhold(db, account, origin))


@turn(AccountActor, AddWaitingMedia)
async def add_waiting_media(account: AccountActor, message: AddWaitingMedia) -> Media | Refused:
    return await account.transact(add_waiting, account.id, message, account.now)


async def add_waiting(db: Connection, account_id: int, message: AddWaitingMedia, now: datetime) -> Media | Refused:
    if await media.count_waiting(db, account_id) >= MOST_WAITING:
        return TOO_MANY_WAITING
    return await media.insert_waiting(
        db,
        message.id,
        account_id,
        message.type,
        message.node,
        message.thumbnail,
        message.description,
        message.focus,
        now,
    )


@turn(AccountActor, DescribeMedia)
async def describe_media(account: AccountActor, message: DescribeMedia) -> Media | Refused:
    changed = await account.transact(describe, account, message, account.now, account.origin)
    return _told(account, changed)


async def describe(
    db: Connection, account: AccountActor, message: DescribeMedia, now: datetime, origin: Origin
) -> MediaChange | Refused:
    """Change an attachment. One of a published status is refused: an edit of the status changes it."""
    medium = await _own(db, account, message.id)
    if medium is None or not medium.changeable:
        return NOT_FOUND
    if medium.state == "failed":
        return failed(medium)
    now_is = await media.describe(db, medium.id, message.description, message.focus, message.thumbnail, now)
    discarded = await _discard(db, account, set(medium.files) - set(now_is.files), origin)
    return MediaChange(now_is, await _withhold(db, account, origin) or discarded)


@turn(AccountActor, FinishMedia)
async def finish_media(account: AccountActor, message: FinishMedia) -> Media | Refused:
    changed = await account.transact(finish, account, message, account.now, account.origin)
    return _told(account, changed)


async def finish(
    db: Connection, account: AccountActor, message: FinishMedia, now: datetime, origin: Origin
) -> MediaChange | Refused:
    """Store the result of processing.

    Unused files are deleted: those of a deleted upload, and those that the owner has replaced.
    """
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
    discarded = await _discard(db, account, files - set(finished.files), origin)
    return MediaChange(finished, await _withhold(db, account, origin) or discarded)


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
    if await media.is_reported(db, medium.id):  # the owner is told nothing of it
        await media.discard(db, [medium.id], now)
        return MediaChange(medium)
    await media.delete_many(db, [medium.id])
    return MediaChange(medium, await _discard(db, account, set(medium.files), origin))


async def _own(db: Connection, account: AccountActor, id: int) -> Media | None:
    medium = (await media.lock(db, [id])).get(id)
    return medium if medium is not None and medium.account_id == account.id and not medium.discarded else None


async def _discard(db: Connection, account: AccountActor, files: set[str], origin: Origin) -> bool:
    """Promise to remove files; the outbox does it, also after a crash. True if there were any."""
    if not files:
        return False
    await account.context.outbox.promise(db, [files_unused(files)], origin)
    return True


async def _withhold(db: Connection, account: AccountActor, origin: Origin) -> bool:
    """Promise to move new files to the others of a suspended account. True if it is suspended.

    An upload may end after the suspension, and the command line may suspend at this moment.
    """
    if not await moderation.is_suspended(db, account.id):
        return False
    await account.context.outbox.promise(db, [files_placed(account.id)], origin)
    return True


def _told(account: AccountActor, changed: MediaChange | Refused) -> Media | Refused:
    if isinstance(changed, Refused):
        return changed
    if changed.promised:
        account.context.outbox.wake()
    return changed.medium
