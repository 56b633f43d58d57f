"""Secrets such as tokens and links, which are stored as hashes alone."""

import hashlib
import hmac

from .engine.shards import shard_of

# The end of a token without an account. These are no hexadecimal digits, so a proxy sends its requests to any node.
NO_SHARD = "xx"


def hash_of(secret: str) -> bytes:
    """Return the hash of a secret as it is stored. A fast hash is enough: a random secret cannot be guessed."""
    return hashlib.sha256(secret.encode()).digest()


def access_token(random: str, account_id: int | None) -> str:
    """Return an access token: a random secret with the shard of the token's account appended, as two hex digits.

    By these digits a proxy can send a request to the node that owns the account. Nothing in the server reads them: the
    hash of the whole token decides, and earlier tokens end without them. A token of an application has no account.
    """
    return random + (NO_SHARD if account_id is None else f"{shard_of(account_id):02x}")


def without_dashes(secret: str) -> str:
    """Return a secret that an operator can name in a command: a word with a dash at its beginning is an option."""
    return secret.replace("-", "_")


def equal_secrets(first: str | bytes, second: str | bytes) -> bool:
    """True if both are equal. The time does not depend on how many characters agree.

    Every comparison of secrets calls this. Texts are compared as bytes, because `compare_digest` raises TypeError for a
    text that is not ASCII, and clients send any text.
    """
    return hmac.compare_digest(_as_bytes(first), _as_bytes(second))


def _as_bytes(secret: str | bytes) -> bytes:
    return secret if isinstance(secret, bytes) else secret.encode("utf-8", "surrogatepass")
