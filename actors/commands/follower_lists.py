"""Making follows between servers agree, after the server of a followed account has said who follows it (FEP-8fcf)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ...storage import accounts, follows, relations
from ...storage.federation import follower_lists
from ..account import AccountActor, AccountChange
from ..kernel import Command, turn
from ..sending.relations import send_end_of_unknown_follow
from .pairs import find_present, publish_followers


@dataclass(frozen=True, slots=True)
class DropFollowers(Command[None]):
    """Command: end the follows of these accounts that began before a time. Requests stay: their answers may come."""

    account_ids: tuple[int, ...]
    before: datetime


@dataclass(frozen=True, slots=True)
class EndUnknownFollow(Command[None]):
    """Command: send an Undo of the Follow to the server of an account, unless this account follows it, or asks to."""

    target_id: int


@turn(AccountActor, DropFollowers)
async def drop_followers(account: AccountActor, message: DropFollowers) -> None:
    await account.change(_drop, message.account_ids, message.before)


@turn(AccountActor, EndUnknownFollow)
async def end_unknown_follow(account: AccountActor, message: EndUnknownFollow) -> None:
    await account.change(_end_unknown, message.target_id)


async def _drop(change: AccountChange, followers: Sequence[int], before: datetime) -> None:
    db, account = change.db, change.account
    await relations.lock_pairs(db, account.id, followers)
    ended = await follower_lists.begun_before(db, account.id, followers, before)
    for follower in ended:
        await follows.delete_follow(db, follower, account.id)
    await publish_followers(change, ended)


async def _end_unknown(change: AccountChange, target_id: int) -> None:
    db, account = change.db, change.account
    await relations.lock_pair(db, account.id, target_id)
    relation = await relations.find_relation(db, account.id, target_id)
    me, target = await accounts.find(db, account.id), await find_present(db, target_id)
    if me is None or target is None or not me.local or target.local or relation.following or relation.requested:
        return
    change.promise(*await send_end_of_unknown_follow(db, account.context, me, target))
