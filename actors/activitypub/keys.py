"""The signing keys of this server: a key for each account, made when it is first needed, and a key for the server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import trio
from cachetools import LRUCache

from ...storage.engine.database import Database
from ...storage.federation import signing_keys
from ...storage.federation.signing_keys import KeyPair
from ..memory.single_flight import SingleFlight
from .names import LocalNames, key_id_of
from .signatures import SigningKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

KEY_SIZE = 2048  # bits; every server reads this size
CACHED = 512  # private keys in memory

MakeKey: TypeAlias = "Callable[[], Awaitable[RSAPrivateKey]]"


async def make_key() -> RSAPrivateKey:
    """Return a new key. It takes a tenth of a second of CPU time, in a thread."""
    return await trio.to_thread.run_sync(_new_key)


class SigningKeys:
    """The keys of this server's actors. `make` is a parameter so that a simulated run needs no threads."""

    def __init__(self, database: Database, names: LocalNames, make: MakeKey = make_key) -> None:
        self._database = database
        self._names = names
        self._make = make
        self._cached: LRUCache[int | None, SigningKey] = LRUCache(CACHED)
        self._reading: SingleFlight[int | None, SigningKey] = SingleFlight()
        self._forgotten = 0  # how often a key was forgotten
        self.changes = 0  # how often a key was read or forgotten

    async def of_server(self) -> SigningKey:
        """Return the key of the server's own actor."""
        return await self._key_of(None)

    async def of_account(self, account_id: int) -> SigningKey:
        """Return the key of a local account, also of a deleted account: its last activities are signed too."""
        return await self._key_of(account_id)

    async def _key_of(self, account_id: int | None) -> SigningKey:
        """Return a key. Many deliveries of a post need it at the same time: they share one read."""
        key = self._cached.get(account_id)
        return key if key is not None else await self._reading.join(account_id, partial(self._read, account_id))

    async def _read(self, account_id: int | None) -> SigningKey:
        """Return a key as stored, and cache it unless it may have been replaced meanwhile."""
        before = self._forgotten
        pair = await self._pair(account_id)
        self.changes += 1
        uri = self._names.server_actor if account_id is None else pair.uri
        key = SigningKey(key_id_of(uri), _private(pair.private_key))
        if before == self._forgotten:
            self._cached[account_id] = key
        return key

    async def public_key_of(self, account_id: int | None) -> str:
        """Return the public key of a local account, or of the server, in PEM."""
        return (await self._pair(account_id)).public_key

    def forget(self, account_id: int) -> None:
        """Drop an account's key from the cache, because it was replaced."""
        self._cached.pop(account_id, None)
        self._reading.forget(account_id)
        self._forgotten += 1
        self.changes += 1

    def clear(self) -> None:
        """Drop all keys from the cache, because any of them may have been replaced."""
        self._cached.clear()
        self._reading = SingleFlight()
        self._forgotten += 1
        self.changes += 1

    async def _pair(self, account_id: int | None) -> KeyPair:
        """Return the stored key pair, or make it. If two tasks make it at the same time, both get the pair that was
        stored."""
        pair = await self._database.read(signing_keys.find, account_id)
        if pair is None:
            key = await self._make()
            pair = await self._database.transact(signing_keys.insert, account_id, private_pem(key), public_pem(key))
        return pair


def with_private(key: SigningKey, pem: str) -> SigningKey:
    """Return a key with a former private half, under its present id."""
    return SigningKey(key.key_id, _private(pem))


def private_pem(key: RSAPrivateKey) -> str:
    """Return a private key as it is stored."""
    # Late, as below: see `signatures.py`.
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii")


def public_pem(key: RSAPrivateKey) -> str:
    """Return the public half of a key as documents have it."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # late: see above

    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")


def _new_key() -> RSAPrivateKey:
    from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key  # late: see above

    return generate_private_key(65537, KEY_SIZE)


def _private(pem: str) -> RSAPrivateKey:
    """Read a private key that this server has made and stored.

    It is not checked again: that takes 30 ms of CPU time for each key, in which the server answers no requests.
    """
    # Late: see above.
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key = load_pem_private_key(pem.encode("ascii"), password=None, unsafe_skip_rsa_key_validation=True)
    if not isinstance(key, RSAPrivateKey):
        raise ValueError("an account's key is not an RSA key")
    return key
