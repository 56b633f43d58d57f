"""Checking a password: slow on purpose, off the event loop, and as slow for names that do not exist."""

from __future__ import annotations

import trio

from ...actors.rules import passwords
from ...storage import users
from ..house import House

# The hash of a password that nobody has, so that an unknown name costs what a known one does.
NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$7Sn8pVCKDqvSrFDEHqlSnQ$gdZeWJFqIG8kPbAelYLckzaK07rhbLQGkAuoxR5Lbyk"


async def matches(stored: str | None, password: str, limiter: trio.CapacityLimiter) -> bool:
    """Whether this is the password; False after the same time when there is none."""
    right = await trio.to_thread.run_sync(passwords.matches, stored or NOBODY, password, limiter=limiter)
    return right and stored is not None


async def renew(house: House, account_id: int, stored: str | None, password: str) -> None:
    """After a sign-in: hash the password anew when its hash is weaker than those made today."""
    if stored and passwords.outdated(stored):
        new = await trio.to_thread.run_sync(passwords.hashed, password, limiter=house.passwords)
        await house.database.transact(users.replace_hash, account_id, stored, new)
