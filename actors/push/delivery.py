"""The delivery of a message to a push service (RFC 8030), by the client for outgoing requests.

`encryption.py` encrypts the message for the device and signs the request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from ...storage.push_subscriptions import PushSubscription
from ..outgoing.client import OutgoingClient, OutgoingRequest, RequestLimits
from ..outgoing.targets import written_target
from .encryption import PushEncryption

KEPT_FOR = timedelta(hours=48)  # by the push service, while the device is off
LIMITS = RequestLimits(seconds=15, body=64 * 1024)


@dataclass(frozen=True, slots=True)
class PushReply:
    """The answer of a push service. `retry_after` is its header."""

    status: int
    retry_after: str | None = None


# Sends a message for a subscription. A message replaces a waiting message with the same topic, so that a device shows
# it once even if it was sent twice. Raises OutgoingFailure.
Deliver = Callable[[PushSubscription, bytes, str], Awaitable[PushReply]]


class WebPush:
    """Delivers messages to the push services of the Internet."""

    def __init__(self, client: OutgoingClient, encryption: PushEncryption) -> None:
        self._client = client
        self._encryption = encryption

    async def __call__(self, subscription: PushSubscription, message: bytes, topic: str) -> PushReply:
        target = written_target(subscription.endpoint)  # its port and its addresses are checked by `send`
        encrypted = await self._encryption.encrypt(subscription, target.origin, message)
        headers = {
            "TTL": str(round(KEPT_FOR.total_seconds())), "Urgency": "normal", "Topic": topic,
            "Content-Type": "application/octet-stream", **encrypted.headers,
        }  # fmt: skip
        request = OutgoingRequest("POST", target.url, headers, encrypted.body, free_ports=True)
        answer = await self._client.send(request, LIMITS)
        return PushReply(answer.status, answer.headers.get("retry-after"))
