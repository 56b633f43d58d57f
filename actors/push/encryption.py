"""The encryption of messages for devices (RFC 8291), and the signature for push services (VAPID, RFC 8292).

pywebpush does both. Encryption takes 0.3 ms and holds the GIL meanwhile: a thread would gain nothing (measured).
"""

from __future__ import annotations

import base64
import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

import trio
from cachetools import LRUCache

from ...storage.engine.json_values import JsonObject
from ...storage.push_subscriptions import PushSubscription
from ..kernel import Clock
from ..memory.push_key import PushKey

SIGNATURE_LASTS = timedelta(hours=23)  # RFC 8292 allows 24 hours by the clock of the push service, which may be behind
SIGNATURE_CACHED_FOR = timedelta(hours=12)
SIGNATURES = 256  # that are cached, by push service and encryption


@dataclass(frozen=True, slots=True)
class EncryptedMessage:
    """The encrypted message for a push service, which can't read the body."""

    headers: Mapping[str, str]
    body: bytes


class PushEncryption:
    """Encrypts messages, and signs requests with the server's key. `contact` is an address for complaints of push
    services."""

    def __init__(self, key: PushKey, clock: Clock, contact: str) -> None:
        self._key = key
        self._clock = clock
        self._contact = contact
        self._signed: LRUCache[tuple[str, bool], tuple[Mapping[str, str], datetime]] = LRUCache(SIGNATURES)

    async def encrypt(self, subscription: PushSubscription, origin: str, message: bytes) -> EncryptedMessage:
        """Return a message for a device. `origin` is the origin of the subscription's endpoint."""
        if "pywebpush" not in sys.modules:
            # The library imports two HTTP clients, which takes a second and 20 MiB: only servers that need it import
            # it.
            await trio.to_thread.run_sync(_load)
        encoded = _encoded(subscription, message)
        signature = self._signature(origin, standard=subscription.standard)
        if subscription.standard:
            return EncryptedMessage({"Content-Encoding": "aes128gcm", **signature}, encoded["body"])
        return EncryptedMessage(
            {
                "Content-Encoding": "aesgcm",
                "Encryption": f"salt={encoded['salt'].decode()}",
                **signature,
                "Crypto-Key": f"dh={encoded['crypto_key'].decode()};{signature['Crypto-Key']}",
            },
            encoded["body"],
        )

    def _signature(self, origin: str, *, standard: bool) -> Mapping[str, str]:
        now = self._clock.now()
        headers, good_until = self._signed.get((origin, standard), ({}, now))
        if good_until <= now:
            headers = self._sign(origin, now + SIGNATURE_LASTS, standard=standard)
            self._signed[origin, standard] = headers, now + SIGNATURE_CACHED_FOR
        return headers

    def _sign(self, origin: str, expires_at: datetime, *, standard: bool) -> Mapping[str, str]:
        """Return the headers of RFC 8292, or of the draft before it."""
        from pywebpush import Vapid, Vapid01  # pyright: ignore[reportMissingTypeStubs]  # it has none; late: see above

        # The library refuses a domain without a dot otherwise, which the server of a company may have.
        signer = (Vapid if standard else Vapid01)(self._key.private, conf={"no-strict": True})
        claims: dict[str, object] = {"aud": origin, "sub": self._contact, "exp": int(expires_at.timestamp())}
        # A cast to any function, because the library has no types.
        return cast("Callable[[dict[str, object]], dict[str, str]]", getattr(signer, "sign"))(claims)  # noqa: B009


def _load() -> None:
    importlib.import_module("pywebpush")


def _encoded(subscription: PushSubscription, message: bytes) -> dict[str, bytes]:
    from pywebpush import WebPusher  # pyright: ignore[reportMissingTypeStubs]  # it has none; late: see above

    keys = {"p256dh": _base64(subscription.p256dh), "auth": _base64(subscription.auth)}
    pusher = WebPusher({"endpoint": subscription.endpoint, "keys": keys})
    encoding = "aes128gcm" if subscription.standard else "aesgcm"
    # A cast, because the library does not declare the types in its dict.
    return cast("JsonObject", pusher.encode(message, encoding))


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
