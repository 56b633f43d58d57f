"""Signed requests, both ways: by draft-cavage and by RFC 9421."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from .requests import ReceivedRequest, UnusableKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    from .cavage import CavageClaim
    from .rfc9421 import Rfc9421Claim

# The modules of the two schemes are imported by the functions that need them: their libraries take 9 MiB, and many
# servers see no signature for a long time after their start.
SignatureScheme: TypeAlias = Literal["cavage", "rfc9421"]
SignatureClaim: TypeAlias = "CavageClaim | Rfc9421Claim"


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key of this server and the id under which others find its public half."""

    key_id: str
    private: RSAPrivateKey


def claim_of(request: ReceivedRequest, now: datetime) -> SignatureClaim:
    """Return the claim of a request's signature. Everything except the key is checked.

    Raise SignatureRefused if there is no signature, if it does not cover the method, the URL, the host, a time and,
    with a body, its digest, if its time is too far from now, or if the body does not fit the digest.
    """
    # Late: the cryptography library takes 10 ms, 36 modules and 7.5 MiB with the first key or signature, and with
    # these modules 18 ms, 71 modules and 9 MiB.
    from . import cavage, rfc9421

    by = rfc9421 if "signature-input" in request.headers else cavage
    return by.claim_of(request, now)


def holds(claim: SignatureClaim, pem: str) -> bool:
    """True if the public key, in PEM, has made the signature."""
    # Late: see above.
    from . import rfc9421
    from .public_keys import public_key, verifies

    try:
        key = public_key(pem)
    except UnusableKey:
        return False
    if isinstance(claim, rfc9421.Rfc9421Claim):
        return rfc9421.holds(claim, key)
    return any(verifies(key, claim.signature, base) for base in claim.bases)


def sign(
    key: SigningKey, method: str, url: str, body: bytes | None, now: datetime, scheme: SignatureScheme = "cavage",
    more: Mapping[str, str] | None = None,
) -> dict[str, str]:  # fmt: skip
    """Return the headers of a signed request, with the headers in `more`, which are signed too.

    `body` is the body of an activity; None for a GET.
    """
    from . import cavage, rfc9421  # late: see above

    by = rfc9421 if scheme == "rfc9421" else cavage
    return by.sign(key.key_id, key.private, method, url, body, now, more or {})
