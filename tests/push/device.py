"""A device that gets pushes: it checks the server's signature and decrypts, by libraries and once more by hand.

By hand means: out of RFC 8188, 8291 and 8292 and the drafts before them, with nothing but `cryptography`. pywebpush
stands on http-ece and py-vapid itself, so that these alone would find no mistake that they share with it.
"""

# http-ece and py-vapid have no types.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import base64
import json
import os
import struct
from collections.abc import Mapping
from typing import Any, cast

import http_ece
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from py_vapid import Vapid01, Vapid02


def written(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def read(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def public(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


class Device:
    """Keys of its own, and what it reads of a request that its push service got."""

    def __init__(self, *, standard: bool) -> None:
        self.standard = standard
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.auth = os.urandom(16)

    @property
    def p256dh(self) -> bytes:
        return public(self.key)

    def subscription(self, endpoint: str, **alerts: bool) -> dict[str, Any]:
        """What its app asks the server for."""
        keys = {"p256dh": written(self.p256dh), "auth": written(self.auth)}
        subscription = {"endpoint": endpoint, "keys": keys, "standard": self.standard}
        return {"subscription": subscription, "data": {"alerts": alerts}}

    def read(self, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
        """Decrypt a message in both ways."""
        by_library = self._by_library(headers, body)
        by_hand = self._standard(body) if self.standard else self._draft(headers, body)
        assert by_library == by_hand
        return json.loads(by_hand)

    def claims(self, headers: Mapping[str, str], server_key: str) -> dict[str, Any]:
        """Return the claims of a signature that is the server's, by both ways of looking at it."""
        scheme, _, rest = headers["authorization"].partition(" ")
        if self.standard:
            fields = dict(part.split("=", 1) for part in rest.split(","))
            assert (scheme, fields.keys()) == ("vapid", {"t", "k"})
            token, key = fields["t"], fields["k"]
            assert Vapid02.verify(headers["authorization"])
        else:
            assert scheme == "WebPush"
            token, key = rest, _parameters(headers["crypto-key"])["p256ecdsa"]
            assert Vapid01.verify(key, headers["authorization"])
        assert key == server_key
        return _verified(token, key)

    def _by_library(self, headers: Mapping[str, str], body: bytes) -> bytes:
        if self.standard:
            return http_ece.decrypt(body, private_key=self.key, auth_secret=self.auth, version="aes128gcm")
        salt, dh = _parameters(headers["encryption"])["salt"], _parameters(headers["crypto-key"])["dh"]
        return http_ece.decrypt(
            body, salt=read(salt), private_key=self.key, dh=read(dh), auth_secret=self.auth, version="aesgcm"
        )

    def _standard(self, body: bytes) -> bytes:
        """RFC 8188 with the keys of RFC 8291."""
        salt, (size, length) = body[:16], struct.unpack("!IB", body[16:21])
        sender, encrypted = body[21 : 21 + length], body[21 + length :]
        assert len(encrypted) <= size, "one record"
        info = b"WebPush: info\0" + self.p256dh + sender
        secret = derived(self._shared(sender), self.auth, info, 32)
        key = derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
        nonce = derived(secret, salt, b"Content-Encoding: nonce\0", 12)
        text, _, padding = AESGCM(key).decrypt(nonce, encrypted, None).rpartition(b"\2")
        assert not padding.strip(b"\0")
        return text

    def _draft(self, headers: Mapping[str, str], body: bytes) -> bytes:
        """draft-ietf-httpbis-encryption-encoding-03 with the keys of draft-ietf-webpush-encryption-04."""
        salt = read(_parameters(headers["encryption"])["salt"])
        sender = read(_parameters(headers["crypto-key"])["dh"])
        secret = derived(self._shared(sender), self.auth, b"Content-Encoding: auth\0", 32)
        context = b"P-256\0" + b"".join(struct.pack("!H", len(one)) + one for one in (self.p256dh, sender))
        key = derived(secret, salt, b"Content-Encoding: aesgcm\0" + context, 16)
        nonce = derived(secret, salt, b"Content-Encoding: nonce\0" + context, 12)
        text = AESGCM(key).decrypt(nonce, body, None)
        (padding,) = struct.unpack("!H", text[:2])
        assert not text[2 : 2 + padding].strip(b"\0")
        return text[2 + padding :]

    def _shared(self, sender: bytes) -> bytes:
        return self.key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender))


def _parameters(header: str) -> dict[str, str]:
    return dict(part.strip().split("=", 1) for part in header.split(";"))


def _verified(token: str, key: str) -> dict[str, Any]:
    head, claims, signature = token.split(".")
    assert json.loads(read(head)) == {"typ": "JWT", "alg": "ES256"}
    raw = read(signature)
    assert len(raw) == 64
    numbers = (int.from_bytes(part, "big") for part in (raw[:32], raw[32:]))
    signer = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), read(key))
    try:
        signer.verify(encode_dss_signature(*numbers), f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        raise AssertionError("the signature is not the server's") from None
    return cast("dict[str, Any]", json.loads(read(claims)))
