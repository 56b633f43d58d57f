"""Checking a password: slow on purpose, off the event loop, and as slow for names that do not exist."""

from __future__ import annotations

import trio
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

# OWASP's choice for argon2id; what a stored hash was made with stands in the hash itself.
HASHER = PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1)

# The hash of a password that nobody has, so that an unknown name costs what a known one does.
NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$7Sn8pVCKDqvSrFDEHqlSnQ$gdZeWJFqIG8kPbAelYLckzaK07rhbLQGkAuoxR5Lbyk"


async def matches(stored: str | None, password: str, limiter: trio.CapacityLimiter) -> bool:
    """Whether this is the password; False after the same time when there is none."""
    right = await trio.to_thread.run_sync(_verify, stored or NOBODY, password, limiter=limiter)
    return right and stored is not None


def _verify(stored: str, password: str) -> bool:
    try:
        return HASHER.verify(stored, password)
    except (VerificationError, InvalidHashError):
        return False
