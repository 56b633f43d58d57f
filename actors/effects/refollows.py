"""Followers of an account whose actor is another one now: each asks the new actor, by a turn of its own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from ...storage import follows
from ..broadcast.broadcast import account_address
from ..kernel import SystemMessage
from ..promises import Effect, Promise
from .registry import ANNOUNCEMENTS, Attempt, EffectContext, carries_out

NOT_AGAIN_FOR = timedelta(minutes=10)
AT_ONCE = 100  # followers that are read together


@dataclass(frozen=True, slots=True)
class FollowAnew(SystemMessage[None]):
    """To a follower of an account, or who asks to be one: ask the actor that the account has now."""

    target_id: int


@dataclass(frozen=True, slots=True)
class AskNewActor(Effect):
    """Have those people here who follow an account, or ask to, ask the actor that it has now."""

    account: int


def actor_changed(account_id: int) -> Promise:
    """Promise to ask the new actor of an account for the follows that the one before had accepted."""
    return Promise(AskNewActor(account_id), f"refollow/{account_id}", account=account_id)


@carries_out("refollow", AskNewActor, ANNOUNCEMENTS)
async def ask_new_actor(context: EffectContext, effect: AskNewActor, attempt: Attempt) -> None:
    """A server that names one actor and then another one is not asked each time: requests are left for a while."""
    after, asked_before = 0, attempt.promised_at - NOT_AGAIN_FOR
    while batch := await context.database.read(follows.local_followers, effect.account, asked_before, after, AT_ONCE):
        for follower in batch:
            message = FollowAnew(effect.account)
            await context.runtime.ask(account_address(follower), message, origin=attempt.origin)
        after = batch[-1]
