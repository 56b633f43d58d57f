"""Password checks. They are slow on purpose, run in a thread, and take as long for unknown names."""

from __future__ import annotations

import trio

from ...actors.rules import passwords
from ...storage import users
from ..access.context import HttpContext


async def matches(stored: str | None, password: str, limiter: trio.CapacityLimiter) -> bool:
    """True if this is the password. Without a hash it returns False after the same time."""
    return await trio.to_thread.run_sync(passwords.matches, stored, password, limiter=limiter)


async def hashed(password: str, limiter: trio.CapacityLimiter) -> str:
    """Return the hash of a new password."""
    return await trio.to_thread.run_sync(passwords.hashed, password, limiter=limiter)


async def renew(context: HttpContext, account_id: int, stored: str | None, password: str) -> str | None:
    """After a sign-in, store a new hash of the password if the stored hash is weaker than current hashes.

    Return the new hash, or the stored hash if it is not renewed.
    """
    if not stored or not passwords.outdated(stored):
        return stored
    new = await hashed(password, context.passwords)
    await context.database.transact(users.replace_hash, account_id, stored, new)
    return new
