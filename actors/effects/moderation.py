"""The consequences of acts of staff on an account: telling of them, and erasing an account that stays suspended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ...storage import accounts, outbox, users
from ...storage.engine.database import Connection
from ..broadcast import account_address
from ..facts.accounts import ChangedAccount, ChangedUser
from ..facts.fact import Fact, promised_with
from ..facts.moderation import ModeratedAccount
from ..kernel import Address, SystemMessage
from ..promises import Effect, Promise
from .registry import ANNOUNCEMENTS, Attempt, EffectContext, carries_out

# So long a suspension can be undone. Then the account is erased.
SUSPENDED_FOR = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class TellModeration(Effect):
    """Tell caches, streams and timelines of the states of an account."""

    account: int


@dataclass(frozen=True, slots=True)
class EraseSuspended(Effect):
    """Delete an account that is suspended since a time, unless this suspension was undone."""

    account: int
    since: str  # a time, as the row has it


@dataclass(frozen=True, slots=True)
class TellStates(SystemMessage[None]):
    """To an account: tell caches, streams and timelines of its states, as its rows are now."""


@dataclass(frozen=True, slots=True)
class DeleteSuspended(SystemMessage[None]):
    """To an account: delete it, if it is still suspended since this time."""

    since: str


def account_moderated(account_id: int) -> Promise:
    """Promise to tell of the states of an account."""
    return Promise(TellModeration(account_id), f"moderation/{account_id}", account=account_id)


def suspension_ends(account_id: int, since: datetime) -> Promise:
    """Promise to delete an account that stays suspended."""
    effect = EraseSuspended(account_id, since.isoformat())
    return Promise(effect, _partition(account_id), due_at=since + SUSPENDED_FOR, account=account_id)


async def forget_end(db: Connection, account_id: int) -> None:
    """Take back the promise to delete an account, because its suspension was undone."""
    await outbox.forget(db, _partition(account_id))


def _partition(account_id: int) -> str:
    return f"suspension/{account_id}"


@promised_with(ModeratedAccount)
def _moderated(facts: Sequence[ModeratedAccount], by: Address) -> Iterator[Promise]:
    return (account_moderated(fact.account_id) for fact in facts)


async def moderation_facts(db: Connection, account_id: int) -> Sequence[Fact]:
    """Return the facts about the states of an account, from its rows as they are now."""
    row = (await accounts.find_many(db, [account_id])).get(account_id)
    user = await users.find_user(db, account_id)
    barred = row is None or bool(row.suspended_at or row.deleted_at or (user and user.inactive))
    return ChangedUser(account_id, user), ChangedAccount(account_id), ModeratedAccount(account_id, barred)


@carries_out("moderation", TellModeration, ANNOUNCEMENTS)
async def tell_moderation(context: EffectContext, effect: TellModeration, attempt: Attempt) -> None:
    """Tell in the turn of the account: a later act, which its turn has told of, must not be followed by this one."""
    await context.runtime.ask(account_address(effect.account), TellStates(), origin=attempt.origin)


@carries_out("suspension", EraseSuspended, ANNOUNCEMENTS)
async def erase_suspended(context: EffectContext, effect: EraseSuspended, attempt: Attempt) -> None:
    await context.runtime.ask(account_address(effect.account), DeleteSuspended(effect.since), origin=attempt.origin)
