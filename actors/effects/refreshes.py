"""Fetching accounts of other servers again, as an operator asks: a queue of its own, because servers may be slow."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from ..promises import Effect, Promise
from .registry import Attempt, EffectQueue, executes

LONGEST_HOST = 240  # characters of a group's name


@dataclass(frozen=True, slots=True)
class RefreshAccount(Effect):
    """Fetch an account of another server again."""

    account: int


class AccountRefresher(Protocol):
    """Fetches accounts again (`federation/federation.py`)."""

    async def refresh(self, account_id: int) -> None: ...


REFRESHES: EffectQueue[AccountRefresher] = EffectQueue(
    "refreshes", workers=8, workers_per_group=2, retry_after=(10, 60, 300, 1800, 7200), give_up_after=timedelta(days=1)
)


def refresh_of(account_id: int, domain: str) -> Promise:
    """Return the promise to fetch an account again. A server gets few requests at a time."""
    return Promise(RefreshAccount(account_id), f"refresh/{account_id}", group=domain[:LONGEST_HOST])


@executes("refresh", RefreshAccount, REFRESHES)
async def refresh_account(refresher: AccountRefresher, effect: RefreshAccount, attempt: Attempt) -> None:
    await refresher.refresh(effect.account)
