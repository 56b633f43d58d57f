"""One-time codes of authenticator apps (TOTP, RFC 6238: six digits, steps of 30 seconds), and recovery codes."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import datetime

from pyotp.totp import TOTP

from ...storage.secrets import equal_secrets

RECOVERY_CODES = 10
STEP = 30  # seconds
# The clock of a telephone may differ by one step in each direction.
SLACK = 1
CODE = re.compile("[0-9]{6}")


def new_secret(random: str) -> str:
    """Return the secret of 160 bits that an authenticator app makes codes from, in base32."""
    return base64.b32encode(_digest("totp", random)[:20]).decode()


def recovery_code(random: str, number: int) -> str:
    """Return a recovery code of 80 bits: four groups of four letters and digits."""
    code = base64.b32encode(_digest(f"recovery {number}", random)[:10]).decode().lower()
    return "-".join(code[at : at + 4] for at in range(0, 16, 4))


def normalized(code: str) -> str:
    """Return a code as it is compared, however a person has typed it: without blanks, and recovery codes in groups."""
    plain = re.sub(r"[\s-]", "", code).lower()[:16]
    return plain if CODE.fullmatch(plain) else "-".join(plain[at : at + 4] for at in range(0, len(plain), 4))


def step_of(secret: str, code: str, now: datetime) -> int | None:
    """Return the number of the step whose code this is, of those around now; None if it is of none."""
    if CODE.fullmatch(code) is None:
        return None
    totp, present = TOTP(secret), int(now.timestamp()) // STEP
    near = range(present - SLACK, present + SLACK + 1)
    return next((step for step in near if equal_secrets(totp.generate_otp(step), code)), None)


def app_address(secret: str, account: str, server: str) -> str:
    """Return the `otpauth` address from which an authenticator app takes the secret."""
    return TOTP(secret).provisioning_uri(name=account, issuer_name=server)


def _digest(purpose: str, random: str) -> bytes:
    return hashlib.sha256(f"{purpose}:{random}".encode()).digest()
