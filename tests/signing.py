"""A key for tests: making one takes a tenth of a second."""

from functools import cache

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key


@cache
def private_key() -> RSAPrivateKey:
    """The key of all actors of this process's tests."""
    return generate_private_key(65537, 2048)


async def a_key() -> RSAPrivateKey:
    return private_key()
