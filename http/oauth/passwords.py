"""Checking a password: slow on purpose, off the event loop, and as slow for names that do not exist."""

from __future__ import annotations

import trio

from ...actors.rules import passwords
from ...storage import users
from ..access.context import HttpContext


async def matches(stored: str | None, password: str, limiter: trio.CapacityLimiter) -> bool:
    """True if this is the password; False after the same time when there is none."""
    return await trio.to_thread.run_sync(passwords.matches, stored, password, limiter=limiter)


async def renew(context: HttpContext, account_id: int, stored: str | None, password: str) -> None:
    """After a sign-in: hash the password anew when its hash is weaker than those made today."""
    if stored and passwords.outdated(stored):
        new = await trio.to_thread.run_sync(passwords.hashed, password, limiter=context.passwords)
        await context.database.transact(users.replace_hash, account_id, stored, new)
