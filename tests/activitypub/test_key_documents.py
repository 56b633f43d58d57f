"""Keys in actors' documents: PEM, and Multikeys (FEP-521a)."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from troupe.actors.activitypub.key_documents import KEYS, LONGEST_MULTIBASE, keys_of_actor, pem_of
from troupe.actors.activitypub.keys import public_pem
from troupe.actors.activitypub.requests import UnusableKey

from ..multikeys import base58, multibase, multikey
from ..signing import private_key

UNA = "https://peer.test/users/una"
# The same in each process that runs tests: its text is in the names of some.
ED25519 = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def pem(key: Ed25519PrivateKey) -> str:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def test_the_example_of_the_proposal() -> None:
    """From FEP-521a."""
    read = pem_of("z6MkrJVnaZkeFzdQyMZu1cgjg7k1pZZ6pvBQ7XJPt4swbTQ2")
    assert read.startswith("-----BEGIN PUBLIC KEY-----")


def test_both_kinds_of_multikeys_are_read() -> None:
    assert pem_of(multibase(ED25519)) == pem(ED25519)
    assert pem_of(multibase(private_key())) == public_pem(private_key())


def test_a_key_is_read_in_every_spelling_of_pem() -> None:
    written = public_pem(private_key())
    body = "".join(written.splitlines()[1:-1])
    pkcs1 = private_key().public_key().public_bytes(Encoding.PEM, PublicFormat.PKCS1).decode()
    der = private_key().public_key().public_bytes(Encoding.DER, PublicFormat.PKCS1)
    spellings = [
        written, written.strip(), written.replace("\n", "\r\n"), written.replace("\n", "\r"), pkcs1,
        written.replace("\n", "\\n"), written.replace("\n", "\r\n\r\n"), written.replace("\n", " "),
        written.replace("\n", "\n\t  "), f"-----BEGIN PUBLIC KEY-----{body}-----END PUBLIC KEY-----",
        f"-----BEGIN RSA PUBLIC KEY-----\n{body}\n-----END RSA PUBLIC KEY-----", f"Key:\n\n{written}\n--\n",
        pkcs1.replace("RSA ", ""), body, body.rstrip("="), b64encode(der).decode(),
    ]  # fmt: skip
    for text in spellings:
        (key,) = keys_of_actor({"id": UNA, "publicKey": {"id": f"{UNA}#main-key", "publicKeyPem": text}})
        assert key.pem == written, text


@pytest.mark.parametrize(
    "text",
    [
        "", "-----BEGIN PUBLIC KEY-----", "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----", "AAAA", "ä" * 40, "=",
        "-----BEGIN PUBLIC KEY-----" * 500, "\\n" * 8_000, "-" * 16_000, " " * 16_000, "\ud800", "KEY\0",
        "KEYä", "\ufeffKEY",
    ],
)  # fmt: skip
def test_a_text_that_is_no_pem_is_no_key(text: str) -> None:
    text = text.replace("KEY", public_pem(private_key())) if len(text) < 5 else text
    assert keys_of_actor({"id": UNA, "publicKey": {"id": f"{UNA}#main-key", "publicKeyPem": text}}) == []


@pytest.mark.parametrize(
    "text",
    [
        "", "z", "zz", "z0OIl", "zä", multibase(ED25519)[1:], f"m{multibase(ED25519)[1:]}", multibase(ED25519)[:-3],
        base58(b"\xed\x01" + b"x" * 33), base58(b"\xec\x01" + b"x" * 32), base58(b"\x85\x24" + b"x" * 200),
        base58(b"\x85\x24"), base58(b"\x80\x24" + b"x" * 33), "z" + "2" * LONGEST_MULTIBASE, "z" * 1_000_000,
    ],
)  # fmt: skip
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(UnusableKey):
        pem_of(text)


def test_an_ed25519_key_in_the_place_of_an_rsa_key_is_none() -> None:
    der = ED25519.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    with pytest.raises(UnusableKey):
        pem_of(base58(b"\x85\x24" + der))


def test_keys_of_an_actor_are_its_own_alone() -> None:
    document: dict[str, Any] = {
        "id": UNA,
        "publicKey": {"id": f"{UNA}#main-key", "owner": UNA, "publicKeyPem": public_pem(private_key())},
        "assertionMethod": [
            multikey(f"{UNA}#ed25519", UNA, ED25519),
            multikey(f"{UNA}#other", "https://peer.test/users/bob", ED25519),
            multikey(f"{UNA}#typeless", UNA, ED25519) | {"type": "Key"},
            multikey(f"{UNA}#owned", UNA, ED25519) | {"controller": None, "owner": UNA},
            f"{UNA}#elsewhere",
        ],
    }
    assert [(one.id, one.pem) for one in keys_of_actor(document)] == [
        (f"{UNA}#main-key", public_pem(private_key())), (f"{UNA}#ed25519", pem(ED25519)),
    ]  # fmt: skip
    one = document | {"publicKey": None, "assertionMethod": document["assertionMethod"][0]}
    assert [key.id for key in keys_of_actor(one)] == [f"{UNA}#ed25519"]


def test_a_document_with_many_keys_costs_no_more_than_its_first() -> None:
    listed = [multikey(f"{UNA}#{number}", UNA, ED25519) for number in range(KEYS + 5)]
    found = keys_of_actor({"id": UNA, "assertionMethod": listed})
    assert [one.id for one in found] == [f"{UNA}#{number}" for number in range(KEYS)]
