"""Followers of an account whose actor was replaced: each asks the new actor, by a turn of its own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from ...storage import follows
from ..broadcast.broadcast import account_address
from ..kernel import SystemCommand
from ..promises import Effect, Promise
from .registry import MAIN_QUEUE, Attempt, EffectContext, executes

NOT_AGAIN_FOR = timedelta(minutes=10)
AT_ONCE = 100  # followers that are read together


@dataclass(frozen=True, slots=True)
class FollowAnew(SystemCommand[None]):
    """To an account that follows another account, or asks to: send the request to its new actor."""

    target_id: int


@dataclass(frozen=True, slots=True)
class AskNewActor(Effect):
    """Make the local followers of an account, and the accounts that ask to follow it, ask its new actor."""

    account: int


def actor_changed(account_id: int) -> Promise:
    """Return the promise to ask the new actor of an account for the follows that its former actor had accepted."""
    return Promise(AskNewActor(account_id), f"refollow/{account_id}", account=account_id)


@executes("refollow", AskNewActor, MAIN_QUEUE)
async def ask_new_actor(context: EffectContext, effect: AskNewActor, attempt: Attempt) -> None:
    """Ask for each follower. Recent requests are not repeated, in case a server changes actors again and again."""
    after, asked_before = 0, attempt.promised_at - NOT_AGAIN_FOR
    while batch := await context.database.read(follows.local_followers, effect.account, asked_before, after, AT_ONCE):
        for follower in batch:
            message = FollowAnew(effect.account)
            await context.runtime.ask(account_address(follower), message, origin=attempt.origin)
        after = batch[-1]
