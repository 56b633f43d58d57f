"""Password checks: slow on purpose, in a thread, and equally slow for names that do not exist."""

from __future__ import annotations

import trio

from ...actors.rules import passwords
from ...storage import users
from ..access.context import HttpContext


async def matches(stored: str | None, password: str, limiter: trio.CapacityLimiter) -> bool:
    """True if this is the password. Without a hash it returns False after the same time."""
    return await trio.to_thread.run_sync(passwords.matches, stored, password, limiter=limiter)


async def renew(context: HttpContext, account_id: int, stored: str | None, password: str) -> None:
    """After a sign-in, store a new hash of the password if the old one is weaker than hashes made today."""
    if stored and passwords.outdated(stored):
        new = await trio.to_thread.run_sync(passwords.hashed, password, limiter=context.passwords)
        await context.database.transact(users.replace_hash, account_id, stored, new)
