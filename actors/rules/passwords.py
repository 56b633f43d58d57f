"""Passwords, one-time codes of authenticator apps (TOTP, RFC 6238: six digits, steps of 30 seconds), recovery codes.

Passwords are hashed by argon2id with OWASP's parameters for 19 MiB. A call takes 20 to 40 ms of a core: run it in a
thread. Keyboards write `é` as one or two characters, and both are the same password: the composed form is hashed
(RFC 8265, 4.2).
"""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import datetime
from unicodedata import normalize

from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import hash_secret_raw
from pyotp.totp import TOTP

from ...storage.secrets import equal_secrets
from .instants import ascii_digits

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
    """True if this is the password. Always false without a hash, or with an unreadable hash.

    It takes the same time in each case, also for a hash that is weaker than today's hashes: otherwise the time of an
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


RECOVERY_CODES = 10
STEP = 30  # seconds
# The clock of a telephone may differ by one step in each direction.
SLACK = 1
CODE = re.compile("[0-9]{6}")
LONGEST_CODE = 100  # characters that are read, blanks and dashes too


def new_secret(random: str) -> str:
    """Return the secret of 160 bits that an authenticator app makes codes from, in base32."""
    return base64.b32encode(_digest("totp", random)[:20]).decode()


def recovery_code(random: str, number: int) -> str:
    """Return a recovery code of 80 bits: four groups of four letters and digits."""
    code = base64.b32encode(_digest(f"recovery {number}", random)[:10]).decode().lower()
    return "-".join(code[at : at + 4] for at in range(0, 16, 4))


def normalized(code: str) -> str:
    """Return a code as it is compared, however a person has typed it: without blanks, and recovery codes in groups.

    Keyboards write digits of their language, letters in full width and other dashes than the printed code has.
    """
    written = ascii_digits(normalize("NFKC", code[:LONGEST_CODE])).lower()
    plain = "".join(sign for sign in written if sign.isalnum())[:16]
    return plain if CODE.fullmatch(plain) else "-".join(plain[at : at + 4] for at in range(0, len(plain), 4))


def step_of(secret: str, code: str, now: datetime) -> int | None:
    """Return the number of the step near `now` that has this code; None if no step has it."""
    if CODE.fullmatch(code) is None:
        return None
    totp, present = TOTP(secret), int(now.timestamp()) // STEP
    near = range(present - SLACK, present + SLACK + 1)
    return next((step for step in near if equal_secrets(totp.generate_otp(step), code)), None)


def app_address(secret: str, account: str, server: str) -> str:
    """Return the `otpauth` address from which an authenticator app takes the secret.

    A colon stands between server and account, so that some apps refuse the name of a server with a colon.
    """
    return TOTP(secret).provisioning_uri(name=account, issuer_name=" ".join(server.replace(":", " ").split()))


def _digest(purpose: str, random: str) -> bytes:
    return hashlib.sha256(f"{purpose}:{random}".encode()).digest()
