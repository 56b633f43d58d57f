"""Public keys as documents have them: `publicKey` with PEM, and Multikeys in `assertionMethod` (FEP-521a)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...storage.engine.json_values import JsonObject
from .requests import UnusableKey
from .uris import ascii_uri, same_uri
from .vocabulary import list_of, objects_of, types_of, web_uri_of

KEYS = 10  # of one actor
# A key of 8,192 bits takes 1,424. Decoding base58 takes time with the square of the length.
LONGEST_MULTIBASE = 1_500
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
# The multicodecs of the two kinds of keys that sign requests, as varints.
ED25519, RSA = b"\xed\x01", b"\x85\x24"


@dataclass(frozen=True, slots=True)
class NamedKey:
    """A public key in PEM that can be used, with its id and the actor that it names as its owner.

    A key without an id has the id of its document.
    """

    id: str
    owner: str | None
    pem: str


def keys_of_actor(actor: JsonObject) -> list[NamedKey]:
    """Return the usable keys in an actor's document that are its own, the `publicKey` first.

    A key without an owner belongs to the actor, because the actor's document contains it.
    """
    own = web_uri_of(actor)
    return [key for key in _embedded(actor) if own is not None and (key.owner is None or same_uri(key.owner, own))]


def key_in(document: JsonObject, key_id: str) -> NamedKey | None:
    """Return the usable key with an id. The document at this id is the key itself or an actor."""
    if is_key(document, key_id):
        return next(_usable([document], document), None)
    return key_among(list(_embedded(document)), key_id, web_uri_of(document))


def key_among(keys: list[NamedKey], key_id: str, own: str | None) -> NamedKey | None:
    """Return the key with the id `key_id` from the keys of the document with the id `own`."""
    if found := next((key for key in keys if same_uri(key.id, key_id)), None):
        return found
    if same_uri(own, key_id):
        return next(iter(keys), None)  # some servers sign with the actor's id in place of the key's
    # Where a document has a key without an id, the key is found under every fragment of the document's id.
    return next((key for key in keys if key.id == own and same_uri(own, key_id.partition("#")[0])), None)


def is_key(document: JsonObject, key_id: str) -> bool:
    """True if a document is the key with an id, and not an actor."""
    return same_uri(web_uri_of(document), key_id) and not {"publicKeyPem", "publicKeyMultibase"}.isdisjoint(document)


def names_key(actor: JsonObject, key_id: str) -> bool:
    """True if an actor's document refers to a key by its id, without embedding it."""
    listed = (*list_of(actor.get("publicKey"))[:KEYS], *list_of(actor.get("assertionMethod"))[:KEYS])
    return any(isinstance(entry, str) and same_uri(ascii_uri(entry), key_id) for entry in listed)


def pem_of(multibase: str) -> str:
    """Return the key of a Multikey in PEM. Raise UnusableKey if it is neither an Ed25519 nor an RSA key."""
    from .public_keys import pem_of_ed25519, pem_of_rsa  # late: see `signatures.py`

    decoded = _decoded(multibase)
    kind, data = decoded[:2], decoded[2:]
    if kind == ED25519:
        return pem_of_ed25519(data)
    if kind == RSA:
        return pem_of_rsa(data)
    raise UnusableKey("the key is of a kind that signs no requests")


def _embedded(document: JsonObject) -> Iterator[NamedKey]:
    """Return the usable keys among the first `KEYS` of a document."""
    multikeys = [key for key in objects_of(document.get("assertionMethod")) if "Multikey" in types_of(key)]
    return _usable([*objects_of(document.get("publicKey")), *multikeys][:KEYS], document)


def _usable(keys: list[JsonObject], document: JsonObject) -> Iterator[NamedKey]:
    own = web_uri_of(document)
    for key in keys:
        try:
            pem = _pem(key)
        except UnusableKey:
            continue
        id = _id_of(key, own)
        if id is not None and pem is not None and (_owner(key) is not None or "publicKeyPem" in key):
            yield NamedKey(id, _owner(key), pem)


def _id_of(key: JsonObject, own: str | None) -> str | None:
    """Return the id of a key. It may be relative to the id of its document, as in `#main-key`."""
    id = key.get("id")
    if id is None:
        return own
    if isinstance(id, str) and id.startswith("#") and own is not None:
        id = own.partition("#")[0] + id
    return web_uri_of(id)


def _pem(key: JsonObject) -> str | None:
    """Return the PEM of a key. Raise UnusableKey if it can't sign requests."""
    from .public_keys import normal_pem  # late: see `signatures.py`

    pem, multibase = key.get("publicKeyPem"), key.get("publicKeyMultibase")
    if isinstance(pem, str):
        return normal_pem(pem)
    if isinstance(multibase, str):
        return normal_pem(pem_of(multibase))
    return None


def _owner(key: JsonObject) -> str | None:
    """Return the owner that a key names. The older vocabulary has `owner`, the newer vocabulary `controller`."""
    return (web_uri_of(key.get("owner")) if "publicKeyPem" in key else None) or web_uri_of(key.get("controller"))


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
    # Leading zeros, which base58 writes as `1`, are lost, but neither multicodec begins with them.
    return number.to_bytes((number.bit_length() + 7) // 8)
