"""Media attachments, in the turn of their owner: storing, describing, finishing and deleting them."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import media, moderation
from ...storage.media import Media, ProcessedMedia
from ..account import AccountActor, AccountChange
from ..effects.files import files_placed, files_unused
from ..kernel import Command, Refused, SystemCommand, turn
from ..refusals import NOT_FOUND
from ..rules.attachments import failure

IN_USE = Refused(422, "Media attachment is currently used by a status")
# Enough for the drafts of one person. It limits the unprocessed files of one account on the disk.
MOST_WAITING = 5
TOO_MANY_WAITING = Refused(429, f"At most {MOST_WAITING} uploads may wait for processing. Try again in a moment!")


def failed(medium: Media) -> Refused:
    """Return the error for the owner of a failed upload."""
    return Refused(422, failure(medium))


@dataclass(frozen=True, slots=True)
class AddMedia(Command[Media]):
    """Command: store a processed upload. Its files are in their places already."""

    made: ProcessedMedia
    description: str = ""
    focus: dict[str, float] | None = None


@dataclass(frozen=True, slots=True)
class AddWaitingMedia(Command[Media]):
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
class DescribeMedia(Command[Media]):
    """Command: change an attachment that is in no published status. None leaves a value as it is."""

    id: int
    description: str | None = None
    focus: dict[str, float] | None = None
    thumbnail: ProcessedMedia | None = None


@dataclass(frozen=True, slots=True)
class FinishMedia(SystemCommand[Media]):
    """Command: end the processing of an upload.

    `made` is None if it failed, `failure` the reason if its owner may see it.
    """

    id: int
    made: ProcessedMedia | None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteMedia(Command[Media]):
    """Command: delete an attachment that is in no status."""

    id: int


@turn(AccountActor, AddMedia)
async def add_media(account: AccountActor, message: AddMedia) -> Media | Refused:
    return await account.change(_add, message)


async def _add(change: AccountChange, message: AddMedia) -> Media:
    id, made = change.ids.next(), message.made
    medium = await media.insert(change.db, id, change.account.id, made, message.description, message.focus, change.now)
    await _withhold(change)
    return medium


@turn(AccountActor, AddWaitingMedia)
async def add_waiting_media(account: AccountActor, message: AddWaitingMedia) -> Media | Refused:
    return await account.change(_add_waiting, message)


async def _add_waiting(change: AccountChange, message: AddWaitingMedia) -> Media | Refused:
    db, account_id = change.db, change.account.id
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
        change.now,
    )


@turn(AccountActor, DescribeMedia)
async def describe_media(account: AccountActor, message: DescribeMedia) -> Media | Refused:
    return await account.change(_describe, message)


async def _describe(change: AccountChange, message: DescribeMedia) -> Media | Refused:
    """Change an attachment. Refused for an attachment of a published status, which an edit changes."""
    medium = await _own(change, message.id)
    if medium is None or not medium.changeable:
        return NOT_FOUND
    if medium.state == "failed":
        return failed(medium)
    described = await media.describe(
        change.db, medium.id, message.description, message.focus, message.thumbnail, change.now
    )
    _discard(change, set(medium.files) - set(described.files))
    await _withhold(change)
    return described


@turn(AccountActor, FinishMedia)
async def finish_media(account: AccountActor, message: FinishMedia) -> Media | Refused:
    return await account.change(_finish, message)


async def _finish(change: AccountChange, message: FinishMedia) -> Media | Refused:
    """Store the result of processing.

    Unused files are deleted: files of a deleted upload, and files that the owner has replaced.
    """
    db, now, made = change.db, change.now, message.made
    files = set[str]() if made is None else {file for file in (made.file, made.thumbnail_file) if file is not None}
    medium = await _own(change, message.id)
    if medium is None or medium.state != "waiting":
        _discard(change, files - set(() if medium is None else medium.files))
        return change.commit_refusal(NOT_FOUND)
    if made is None:
        await media.fail(db, medium.id, message.failure, now)
    else:
        await media.finish(db, medium.id, made, now)
    finished = await media.find(db, medium.id) or medium
    _discard(change, files - set(finished.files))
    await _withhold(change)
    return finished


@turn(AccountActor, DeleteMedia)
async def delete_media(account: AccountActor, message: DeleteMedia) -> Media | Refused:
    return await account.change(_delete, message)


async def _delete(change: AccountChange, message: DeleteMedia) -> Media | Refused:
    medium = await _own(change, message.id)
    if medium is None:
        return NOT_FOUND
    if medium.taken:
        return IN_USE
    if await media.is_reported(change.db, medium.id):  # the owner is not notified
        await media.discard(change.db, [medium.id], change.now)
        return medium
    await media.delete_many(change.db, [medium.id])
    _discard(change, set(medium.files))
    return medium


async def _own(change: AccountChange, id: int) -> Media | None:
    medium = (await media.lock(change.db, [id])).get(id)
    return medium if medium is not None and medium.account_id == change.account.id and not medium.discarded else None


def _discard(change: AccountChange, files: set[str]) -> None:
    """Promise to remove files, if there are any; the outbox does it, also after a crash."""
    if files:
        change.promise(files_unused(files))


async def _withhold(change: AccountChange) -> None:
    """Promise to move new files to the others of a suspended account.

    An upload may end after the suspension, and the command line may suspend at this moment.
    """
    if await moderation.is_suspended(change.db, change.account.id):
        change.promise(files_placed(change.account.id))
