"""What push services and devices get: both encodings, and a signature of the server's."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from troupe.actors.memory.push_key import PushKey, new_push_key
from troupe.actors.outgoing.client import OutgoingClient
from troupe.actors.outgoing.messages import OutgoingAnswer, OutgoingRequest, RequestLimits
from troupe.actors.outgoing.targets import target_of
from troupe.actors.push.delivery import WebPush
from troupe.actors.push.encryption import PushEncryption
from troupe.storage.push_subscriptions import PushSubscription

from ..storage.conftest import NOW
from .device import Device

ORIGIN = "https://push.example"
CONTACT = "mailto:ops@t.example"


class Clock:
    """Stands where it was put."""

    def __init__(self) -> None:
        self.time = NOW

    def now(self) -> Any:
        return self.time


def loaded() -> PushKey:
    key = PushKey()
    key.hold(new_push_key())
    return key


def subscribed(device: Device) -> PushSubscription:
    return PushSubscription(
        1, account_id=1, access_token="token", endpoint=f"{ORIGIN}/1", service="push.example", p256dh=device.p256dh,
        auth=device.auth, standard=device.standard, alerts=(), policy="all",
    )  # fmt: skip


async def sent(device: Device, encryption: PushEncryption, message: Any) -> tuple[dict[str, str], bytes]:
    encrypted = await encryption.encrypt(subscribed(device), ORIGIN, json.dumps(message).encode())
    return {name.lower(): value for name, value in encrypted.headers.items()}, encrypted.body


@pytest.mark.parametrize("standard", [True, False])
@pytest.mark.parametrize("text", ["x", "ö" * 140, "x" * 3000])
async def test_only_the_device_reads_a_message(standard: bool, text: str) -> None:
    device, key = Device(standard=standard), loaded()
    headers, body = await sent(device, PushEncryption(key, Clock(), CONTACT), {"body": text})
    assert headers["content-encoding"] == ("aes128gcm" if standard else "aesgcm")
    assert device.read(headers, body) == {"body": text}
    assert text.encode() not in body or text == "x"
    with pytest.raises(Exception, match=r"."):
        Device(standard=standard).read(headers, body)


@pytest.mark.parametrize("standard", [True, False])
async def test_a_push_service_knows_the_server_by_its_signature(standard: bool) -> None:
    device, key = Device(standard=standard), loaded()
    headers, _ = await sent(device, PushEncryption(key, Clock(), CONTACT), {})
    claims = device.claims(headers, key.public)
    assert claims == {"aud": ORIGIN, "sub": CONTACT, "exp": claims["exp"]}
    assert timedelta(hours=12) < timedelta(seconds=claims["exp"] - NOW.timestamp()) < timedelta(hours=24)


async def test_no_two_messages_are_encrypted_alike() -> None:
    for standard in (True, False):
        device, encryption = Device(standard=standard), PushEncryption(loaded(), Clock(), CONTACT)
        first, second = [await sent(device, encryption, {"same": 1}) for _ in range(2)]
        assert first[1] != second[1]
        assert device.read(*first) == device.read(*second)


async def test_a_signature_is_used_again_until_half_of_its_time_is_over() -> None:
    device, clock, key = Device(standard=True), Clock(), loaded()
    encryption = PushEncryption(key, clock, CONTACT)

    async def signature() -> str:
        return (await sent(device, encryption, {}))[0]["authorization"]

    first = await signature()
    clock.time += timedelta(hours=11)
    assert await signature() == first
    clock.time += timedelta(hours=2)
    second = await signature()
    assert second != first
    assert device.claims({"authorization": second}, key.public)["exp"] > clock.time.timestamp() + 12 * 3600


async def test_a_server_whose_domain_has_no_dot_can_sign_too() -> None:
    device, key = Device(standard=True), loaded()
    headers, _ = await sent(device, PushEncryption(key, Clock(), "mailto:noreply@intranet"), {})
    assert device.claims(headers, key.public)["sub"] == "mailto:noreply@intranet"


class Recorder(OutgoingClient):
    """A client that notes the requests in place of sending them."""

    def __init__(self) -> None:
        super().__init__("Troupe/test")
        self.sent: list[OutgoingRequest] = []

    async def send(self, request: OutgoingRequest, limits: RequestLimits) -> OutgoingAnswer:
        target_of(request.url, free_ports=request.free_ports)
        self.sent.append(request)
        return OutgoingAnswer(201, {}, b"", request.url)


async def test_a_push_service_may_listen_on_a_port_of_its_own() -> None:
    device, key, client = Device(standard=True), loaded(), Recorder()
    subscription = replace(subscribed(device), endpoint=f"{ORIGIN}:8443/up1")
    assert (await WebPush(client, PushEncryption(key, Clock(), CONTACT))(subscription, b"{}", "x")).status == 201
    (request,) = client.sent
    assert request.url == f"{ORIGIN}:8443/up1"
    assert device.claims({name.lower(): text for name, text in request.headers.items()}, key.public)["aud"] == (
        f"{ORIGIN}:8443"
    )
