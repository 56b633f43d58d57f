"""Public keys of other servers' actors, and the signatures that they verify."""

from __future__ import annotations

import base64
import re
from functools import lru_cache

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256, SHA512, HashAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_public_key,
)

from .requests import UnusableKey

LONGEST_PEM = 16 * 1024
KEY_SIZES = range(1024, 8192 + 1)  # bits; a longer key would make each check expensive
# Bits. As in the libraries of Go and Windows; nearly all keys have 65537. The time to verify a signature grows with the
# length of the exponent: an exponent as long as the key makes it a hundred times slower.
LARGEST_EXPONENT = 31

PublicKey = RSAPublicKey | Ed25519PublicKey


# The label names the format of the key, but some servers write a wrong label: the format is found in the data.
ARMOUR = re.compile(r"-----BEGIN [A-Z0-9 ]{1,40}-----(?P<data>[^-]*+)-----END ")
# White space, also where it was escaped once too often.
SPACE = re.compile(r"\\[nrt]|\s+")


@lru_cache(maxsize=2048)
def public_key(text: str) -> PublicKey:
    """Return the key of a text in PEM. Raise UnusableKey if it is no key that signs requests.

    Lines may have any length and any line ends. Text around the key is ignored. Without the lines `BEGIN` and `END`,
    the text is base64 alone.
    """
    if len(text) > LONGEST_PEM:
        raise UnusableKey("the key is too long")
    if not text.isascii() or "\0" in text:
        raise UnusableKey("the key can't be read")
    armoured = ARMOUR.search(text)
    data = SPACE.sub("", text if armoured is None else armoured["data"]).rstrip("=")
    try:
        key = load_der_public_key(base64.b64decode(data + "=" * (-len(data) % 4), validate=True))
    except (ValueError, UnsupportedAlgorithm):
        raise UnusableKey("the key can't be read") from None
    if isinstance(key, RSAPublicKey) and key.key_size in KEY_SIZES and _exponent_bits(key) <= LARGEST_EXPONENT:
        return key
    if isinstance(key, Ed25519PublicKey):
        return key
    raise UnusableKey("the key is of a kind that signs no requests")


def normal_pem(text: str) -> str:
    """Return the key of a text in PEM in the form of rows. Raise UnusableKey as `public_key` does."""
    return _pem(public_key(text))


def pem_of_ed25519(data: bytes) -> str:
    """Return a key in PEM. Raise UnusableKey for data that is no key."""
    try:
        return _pem(Ed25519PublicKey.from_public_bytes(data))
    except (ValueError, UnsupportedAlgorithm):
        raise UnusableKey("the key can't be read") from None


def pem_of_rsa(data: bytes) -> str:
    """Return an RSA key in PEM that was written in DER. Raise UnusableKey for data that is no RSA key."""
    try:
        key = load_der_public_key(data)
    except (ValueError, UnsupportedAlgorithm):
        raise UnusableKey("the key can't be read") from None
    if not isinstance(key, RSAPublicKey):
        raise UnusableKey("the key is of a kind that signs no requests")
    return _pem(key)


def verifies(key: PublicKey, signature: bytes, signed: bytes) -> bool:
    """True if a key has made a signature. RSA is PKCS #1 v1.5 with SHA-256 or, as GoToSocial tries too, SHA-512."""
    if isinstance(key, Ed25519PublicKey):
        return _is_of_ed25519(key, signature, signed)
    return any(_is_of_rsa(key, signature, signed, hash) for hash in (SHA256(), SHA512()))


def _exponent_bits(key: RSAPublicKey) -> int:
    return key.public_numbers().e.bit_length()


def _pem(key: PublicKey) -> str:
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def _is_of_ed25519(key: Ed25519PublicKey, signature: bytes, signed: bytes) -> bool:
    try:
        key.verify(signature, signed)
    except InvalidSignature:
        return False
    return True


def _is_of_rsa(key: RSAPublicKey, signature: bytes, signed: bytes, hash: HashAlgorithm) -> bool:
    try:
        key.verify(signature, signed, PKCS1v15(), hash)
    except InvalidSignature:
        return False
    return True
