"""Multikeys, as other servers write them."""

from __future__ import annotations

from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def multibase(private: Ed25519PrivateKey | RSAPrivateKey) -> str:
    """Return the public half of a key as a Multikey has it."""
    public = private.public_key()
    if isinstance(private, Ed25519PrivateKey):
        return base58(b"\xed\x01" + public.public_bytes(Encoding.Raw, PublicFormat.Raw))
    return base58(b"\x85\x24" + public.public_bytes(Encoding.DER, PublicFormat.PKCS1))


def base58(data: bytes) -> str:
    number, text = int.from_bytes(data), ""
    while number:
        number, digit = divmod(number, len(BASE58))
        text = BASE58[digit] + text
    return f"z{text}"


def multikey(id: str, controller: str, private: Ed25519PrivateKey | RSAPrivateKey) -> dict[str, Any]:
    return {"id": id, "type": "Multikey", "controller": controller, "publicKeyMultibase": multibase(private)}
