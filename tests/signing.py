"""A key for tests: making one takes a tenth of a second."""

from functools import cache

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from troupe.actors.activitypub.public_keys import KEY_SIZES


@cache
def private_key() -> RSAPrivateKey:
    """The key of all actors of this process's tests: the shortest that the server takes, which signs fastest."""
    return generate_private_key(65537, KEY_SIZES[0])


@cache
def another_key() -> RSAPrivateKey:
    """A key that is not that of the actors."""
    return generate_private_key(65537, KEY_SIZES[0])


async def a_key() -> RSAPrivateKey:
    return private_key()
