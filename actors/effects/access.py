"""The end of all access to an account, told again: a crash after the commit must leave no token valid in a cache."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import sessions
from ..facts.access import RevokedToken
from ..facts.accounts import ChangedAccount
from ..promises import Effect, Promise
from .registry import ANNOUNCEMENTS, Attempt, EffectContext, carries_out


@dataclass(frozen=True, slots=True)
class EndAccess(Effect):
    """Drop the revoked tokens of an account from the caches, and close their streams."""

    account: int


def access_ended(account_id: int) -> Promise:
    """Promise to tell that tokens of an account were revoked. The turn tells it itself, unless it crashes."""
    return Promise(EndAccess(account_id), f"access/{account_id}", account=account_id)


@carries_out("access", EndAccess, ANNOUNCEMENTS)
async def end_access(context: EffectContext, effect: EndAccess, attempt: Attempt) -> None:
    revoked = await context.database.read(sessions.revoked_tokens, effect.account)
    facts = [ChangedAccount(effect.account), *(RevokedToken(token_hash) for token_hash in revoked)]
    await context.facts.apply(facts, attempt.origin)
