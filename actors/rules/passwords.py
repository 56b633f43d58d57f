"""Passwords: argon2id with OWASP's parameters for 19 MiB. A call takes 20 to 40 ms of a core: run it in a thread.

Keyboards write `é` as one character or as two, and both are one password: the composed form is hashed (RFC 8265, 4.2).
"""

from __future__ import annotations

from unicodedata import normalize

from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import hash_secret_raw

HASHER = PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1)

# For an import of thousands of accounts: a fifth of the work. The first sign-in hashes the password again.
QUICK = PasswordHasher(time_cost=1, memory_cost=8192, parallelism=1)

COST = HASHER.time_cost * HASHER.memory_cost
SMALLEST_MEMORY = 8  # the least that argon2 accepts


def hashed(password: str) -> str:
    """Return the hash of a password, with a new salt each time."""
    return HASHER.hash(normalize("NFC", password))


def hashed_quickly(password: str) -> str:
    """Return a cheaper hash, for first passwords of many accounts, which an operator made up."""
    return QUICK.hash(normalize("NFC", password))


def matches(password_hash: str | None, password: str) -> bool:
    """True if this is the password. Always false without a hash, or with one that can't be read.

    It takes the same time in each case, also for a hash that is weaker than those made today: otherwise the time of an
    answer would show which accounts exist. Hashes of earlier versions are of passwords as they were typed.
    """
    spellings = dict.fromkeys((normalize("NFC", password), password))
    return any(_verify(password_hash, spelling) for spelling in spellings)


def _verify(password_hash: str | None, password: str) -> bool:
    _spend(COST - _cost(password_hash))
    try:
        return password_hash is not None and HASHER.verify(password_hash, password)
    except (VerificationError, InvalidHashError):
        return False


def _cost(password_hash: str | None) -> int:
    """Return the work to verify a password by this hash, in KiB that are filled. The time is proportional to it."""
    try:
        parameters = extract_parameters(password_hash or "")
    except InvalidHashError:
        return 0
    return parameters.time_cost * parameters.memory_cost


def _spend(cost: int) -> None:
    """Do this much work without a result."""
    memory = cost // HASHER.time_cost
    if memory >= SMALLEST_MEMORY:
        hash_secret_raw(b"", bytes(16), HASHER.time_cost, memory, HASHER.parallelism, HASHER.hash_len, HASHER.type)


def outdated(password_hash: str) -> bool:
    """True if a password that matched should be hashed again, because the parameters are stronger today."""
    return HASHER.check_needs_rehash(password_hash)
