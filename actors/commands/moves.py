"""Moves of accounts of other servers, and the followers here who go along."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ...storage import moves
from ...storage.engine.database import Connection
from ..account import AccountActor
from ..effects.moves import FollowMoved, account_moved
from ..facts import ChangedAccount
from ..kernel import Message, Origin, finished, turn
from .relations import Follow, Unfollow, follow, unfollow

EVERY = timedelta(days=7)  # an account does not move more often


@dataclass(frozen=True, slots=True)
class Move(Message[None]):
    """Command to an account of another server: it has moved to another account, which knows of it."""

    target_id: int


@turn(AccountActor, Move)
async def move(account: AccountActor, message: Move) -> None:
    if await account.transact(_move, account, message.target_id, account.now, account.origin):
        await account.publish(ChangedAccount(account.id))
        account.context.outbox.wake()


async def _move(db: Connection, account: AccountActor, target_id: int, now: datetime, origin: Origin) -> bool:
    if account.is_local or not await moves.begin(db, account.id, target_id, now, now - EVERY):
        return False
    await account.context.outbox.promise(db, [account_moved(account.id, target_id)], origin)
    return True


@turn(AccountActor, FollowMoved)
async def follow_moved(account: AccountActor, message: FollowMoved) -> None:
    """Follow the new account, unless it is the own one or may not be followed, and then the old one no more."""
    terms = account.perspective.following.get(message.account_id)
    if terms is None:
        return
    if message.target_id not in account.perspective.following and message.target_id != account.id:
        asked = Follow(message.target_id, terms.show_reblogs, terms.notify, terms.languages)
        await finished(follow(account, asked))
    await finished(unfollow(account, Unfollow(message.account_id)))
