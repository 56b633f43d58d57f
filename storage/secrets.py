"""Secrets that people carry, such as tokens and links: kept as their hash alone."""

import hashlib


def hash_of(secret: str) -> bytes:
    """How a secret is kept at rest. A fast hash will do: nobody guesses what was drawn at random."""
    return hashlib.sha256(secret.encode()).digest()
