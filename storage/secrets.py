"""Secrets that people carry, such as tokens and links: kept as their hash alone."""

import hashlib
import hmac


def hash_of(secret: str) -> bytes:
    """How a secret is kept at rest. A fast hash is enough: a random secret cannot be guessed."""
    return hashlib.sha256(secret.encode()).digest()


def equal_secrets(first: str | bytes, second: str | bytes) -> bool:
    """True if both are the same, in a time that does not tell how much of them is.

    Every comparison of secrets calls this. Texts are compared as bytes, because `compare_digest` raises TypeError for
    a text that is not ASCII, and clients send any text.
    """
    return hmac.compare_digest(_as_bytes(first), _as_bytes(second))


def _as_bytes(secret: str | bytes) -> bytes:
    return secret if isinstance(secret, bytes) else secret.encode("utf-8", "surrogatepass")
