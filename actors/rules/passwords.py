"""Passwords: argon2id with OWASP's parameters for 19 MiB. Some 20 to 40 ms of a core each: call it in a thread."""

from __future__ import annotations

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

HASHER = PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1)

# For an import of thousands of accounts: a fifth of the work. It lasts until the first sign-in, which hashes anew.
QUICK = PasswordHasher(time_cost=1, memory_cost=8192, parallelism=1)


def hashed(password: str) -> str:
    """What is stored of a password: a new salt each time."""
    return HASHER.hash(password)


def hashed_quickly(password: str) -> str:
    """The same for the first password of one among very many accounts, which an operator made up."""
    return QUICK.hash(password)


def matches(password_hash: str, password: str) -> bool:
    """Whether this is the password. A hash that can't be read matches none."""
    try:
        return HASHER.verify(password_hash, password)
    except (VerificationError, InvalidHashError):
        return False


def outdated(password_hash: str) -> bool:
    """Whether a password that matched should be hashed anew, since today more is asked for."""
    return HASHER.check_needs_rehash(password_hash)
