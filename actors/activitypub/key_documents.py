"""Public keys as documents have them: `publicKey` with PEM, and Multikeys in `assertionMethod` (FEP-521a)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...storage.engine.json_values import JsonObject
from .requests import UnusableKey
from .vocabulary import objects_of, types_of, uri_of

KEYS = 10  # of one actor
# A key of 8,192 bits takes 1,424. Decoding base58 takes time with the square of the length.
LONGEST_MULTIBASE = 1_500
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
# The multicodecs of the two kinds of keys that sign requests, as varints.
ED25519, RSA = b"\xed\x01", b"\x85\x24"


@dataclass(frozen=True, slots=True)
class NamedKey:
    """A public key in PEM that can be used, with its id and the actor that it names as its owner."""

    id: str
    owner: str | None
    pem: str


def keys_of_actor(actor: JsonObject) -> list[NamedKey]:
    """Return the usable keys in an actor's document that name the actor as their owner, the `publicKey` first."""
    own = uri_of(actor)
    return [key for key in _embedded(actor) if key.owner == own and own is not None]


def owner_of_key(document: JsonObject, key_id: str) -> str | None:
    """Return the actor that a key's document names: the document is the key, or that of the actor itself."""
    if document.get("id") == key_id and not {"publicKeyPem", "publicKeyMultibase"}.isdisjoint(document):
        return _owner(document)
    named = (*objects_of(document.get("publicKey")), *objects_of(document.get("assertionMethod")))
    key = next((one for one in named if one.get("id") == key_id), None)
    return None if key is None else _owner(key)


def pem_of(multibase: str) -> str:
    """Return the key of a Multikey in PEM. Raise UnusableKey for one that is no Ed25519 or RSA key."""
    from .public_keys import pem_of_ed25519, pem_of_rsa  # late: see `signatures.py`

    decoded = _decoded(multibase)
    kind, data = decoded[:2], decoded[2:]
    if kind == ED25519:
        return pem_of_ed25519(data)
    if kind == RSA:
        return pem_of_rsa(data)
    raise UnusableKey("the key is of a kind that signs no requests")


def _embedded(actor: JsonObject) -> Iterator[NamedKey]:
    """Yield the usable ones among the first keys of a document."""
    listed = [*objects_of(actor.get("publicKey")), *_multikeys(actor)]
    for key in listed[:KEYS]:
        id = uri_of(key)
        try:
            pem = _pem(key)
        except UnusableKey:
            continue
        if id is not None and pem is not None:
            yield NamedKey(id, _owner(key), pem)


def _multikeys(actor: JsonObject) -> list[JsonObject]:
    """Return the embedded Multikeys of an actor. One that is named by its id alone is not fetched."""
    return [one for one in objects_of(actor.get("assertionMethod")) if "Multikey" in types_of(one)]


def _pem(key: JsonObject) -> str | None:
    """Return the PEM of a key. Raise UnusableKey for one that signs no requests."""
    from .public_keys import public_key  # late: see `signatures.py`

    pem, multibase = key.get("publicKeyPem"), key.get("publicKeyMultibase")
    if isinstance(pem, str):
        public_key(pem)
        return pem
    if isinstance(multibase, str):
        pem = pem_of(multibase)
        public_key(pem)
        return pem
    return None


def _owner(key: JsonObject) -> str | None:
    return uri_of(key.get("owner") if "publicKeyPem" in key else key.get("controller"))


def _decoded(multibase: str) -> bytes:
    """Return the bytes of a text in base58btc, the only base that FEP-521a allows."""
    if not multibase.startswith("z") or len(multibase) > LONGEST_MULTIBASE:
        raise UnusableKey("the key can't be read")
    number = 0
    for character in multibase[1:]:
        digit = BASE58.find(character)
        if digit < 0:
            raise UnusableKey("the key can't be read")
        number = number * len(BASE58) + digit
    # Leading zeros, which base58 writes as `1`, begin none of the two multicodecs.
    return number.to_bytes((number.bit_length() + 7) // 8)
