"""Blocking and unblocking accounts."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import blocks, quotes, relations, suggestions
from ...storage.federation import tombstones
from ..account import AccountActor, AccountChange
from ..kernel import Command, Refused, turn
from ..refusals import NOT_FOUND
from ..sending.relations import send_block, send_end_of_follows, send_unblock
from .interacting import undone
from .pairs import find_present, publish_pair


@dataclass(frozen=True, slots=True)
class Block(Command[None]):
    """Command: block. This ends the follows and the quotes in both directions. A block of another server has a URI."""

    target_id: int
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class Unblock(Command[None]):
    """Command: end a block."""

    target_id: int


@turn(AccountActor, Block)
async def block(account: AccountActor, message: Block) -> Refused | None:
    if message.target_id == account.id:
        return None
    return await account.change(_block, message)


@turn(AccountActor, Unblock)
async def unblock(account: AccountActor, message: Unblock) -> Refused | None:
    return await account.change(_unblock, message.target_id)


async def _block(change: AccountChange, message: Block) -> Refused | None:
    db, account, target_id = change.db, change.account, message.target_id
    is_undone = await undone(change, message.uri)  # the follows that a block ends are ended also if the block is undone
    await relations.lock_pair(db, account.id, target_id)
    if (target := await find_present(db, target_id)) is None:
        return NOT_FOUND
    id = change.ids.next()
    # Before the block deletes the follows, because the activities name them by their URIs.
    change.promise(*await send_end_of_follows(db, account, target))
    ended = await quotes.end_between(db, account.id, target_id, change.ids.next)
    uri = await tombstones.unused(db, message.uri)
    if (await blocks.insert_block(db, id, account.id, target_id, change.now, uri)).new:
        change.promise(*await send_block(db, account, target, id))
    if is_undone:
        await blocks.delete_block(db, account.id, target_id)
    await suggestions.end(db, account.id, target_id, change.ids.next())
    return await publish_pair(change, target_id, ended)


async def _unblock(change: AccountChange, target_id: int) -> None:
    db, account = change.db, change.account
    await relations.lock_pair(db, account.id, target_id)
    id = await blocks.delete_block(db, account.id, target_id)
    if id is not None:
        change.promise(*await send_unblock(db, account, target_id, id))
    await publish_pair(change, target_id)
