"""Followers of an account that moved: each follows the new account, by a turn of its own."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import moves
from ..broadcast.broadcast import account_address
from ..kernel import SystemCommand
from ..promises import Effect, Promise
from .registry import MAIN_QUEUE, Attempt, EffectContext, executes

AT_ONCE = 100  # followers that are read together


@dataclass(frozen=True, slots=True)
class FollowMoved(SystemCommand[None]):
    """To a follower of an account that moved: follow its new account in its place, on the same terms."""

    account_id: int
    target_id: int


@dataclass(frozen=True, slots=True)
class MoveFollowers(Effect):
    """Make the followers of an account that moved follow `target`."""

    account: int
    target: int


def account_moved(account_id: int, target_id: int) -> Promise:
    """Return the promise to move the followers of an account."""
    return Promise(MoveFollowers(account_id, target_id), moving(account_id), account=account_id)


def moving(account_id: int) -> str:
    """Return the partition of the promise to move the followers of an account."""
    return f"move/{account_id}"


@executes("move", MoveFollowers, MAIN_QUEUE)
async def move_followers(context: EffectContext, effect: MoveFollowers, attempt: Attempt) -> None:
    """Move each follower in turn. After a crash some are moved again, which changes nothing."""
    after = 0
    while batch := await context.database.read(moves.local_followers, effect.account, after, AT_ONCE):
        for follower in batch:
            message = FollowMoved(effect.account, effect.target)
            await context.runtime.ask(account_address(follower), message, origin=attempt.origin)
        after = batch[-1]
