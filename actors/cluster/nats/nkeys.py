"""nkeys: logins at NATS by an Ed25519 signature. The server knows the public key alone.

A key is written in base32: a prefix that says its kind, 32 bytes, and a checksum. Seeds, which are private, begin with
S, and with SU if they are of a user. https://github.com/nats-io/nkeys describes the form.
"""

from __future__ import annotations

import base64
import binascii
import re

SEED = re.compile(r"SU[A-Z2-7]{56}")
SEED_OF_USER = bytes([18 << 3 | 20 << 3 >> 5, (20 << 3 & 31) << 3])  # the kind "seed" in 5 bits, the kind "user" in 8
USER = bytes([20 << 3])


def is_seed(text: str) -> bool:
    """True if the text is the seed of a user, with its checksum."""
    if SEED.fullmatch(text) is None:
        return False
    data = base64.b32decode(text + "======")
    return data[:2] == SEED_OF_USER and data[-2:] == _checksum(data[:-2])


def sign(seed: str, nonce: str) -> tuple[str, str]:
    """Return the public key, and the signature of the nonce, as CONNECT has them."""
    # Late: 10 ms, for those alone who log in so.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.from_private_bytes(base64.b32decode(seed + "======")[2:-2])
    public = USER + key.public_key().public_bytes_raw()
    name = base64.b32encode(public + _checksum(public)).decode().rstrip("=")
    return name, base64.urlsafe_b64encode(key.sign(nonce.encode())).decode().rstrip("=")


def _checksum(data: bytes) -> bytes:
    """Return the CRC-16 of XMODEM, its low byte first."""
    return binascii.crc_hqx(data, 0).to_bytes(2, "little")
