"""A push service on loopback: keeps what it gets, and misbehaves on command."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import trio

from ..outgoing.peer import Asked, Peer, answer, answered_by
from .device import Device


@dataclass
class PushService:
    """Devices by the paths of their endpoints. `replies` says what the next requests of a path get; else it is 201."""

    host: str
    peer: Peer
    devices: dict[str, Device] = field(default_factory=dict[str, Device])
    replies: dict[str, list[bytes]] = field(default_factory=dict[str, list[bytes]])
    asleep: bool = False  # it takes requests and answers none

    @property
    def origin(self) -> str:
        return f"http://{self.host}:{self.peer.port}"

    def add(self, path: str, *, standard: bool = True) -> Device:
        """A device whose endpoint is at a path."""
        self.devices[path] = device = Device(standard=standard)
        return device

    def wishes(self, path: str, *alerts: str, policy: str | None = None) -> dict[str, Any]:
        """What the device at a path asks the server for."""
        wanted = self.devices[path].subscription(self.origin + path, **dict.fromkeys(alerts, True))
        return {**wanted, "data": {**wanted["data"], **({"policy": policy} if policy else {})}}

    async def received(self, count: int = 1) -> list[Asked]:
        """All requests, as soon as there are so many."""
        await self.peer.until(lambda: len(self.peer.asked) >= count)
        return self.peer.asked

    async def messages(self, path: str, count: int = 1) -> list[dict[str, Any]]:
        """What the device at a path has read, as soon as there is so much."""
        await self.peer.until(lambda: len(self.to(path)) >= count)
        return [self.devices[path].read(asked.headers, asked.body) for asked in self.to(path)]

    def to(self, path: str) -> list[Asked]:
        return [asked for asked in self.peer.asked if asked.path == path]

    async def respond(self, stream: trio.abc.Stream, asked: Asked) -> None:
        if self.asleep:
            await trio.sleep_forever()
        told = self.replies.get(asked.path) or [answer(201, Location=f"{self.origin}/message")]
        if not (reply := told.pop(0)):
            await trio.aclose_forcefully(stream)
            raise trio.ClosedResourceError
        await stream.send_all(reply)


def refusal(status: int, headers: Mapping[str, str] | None = None) -> bytes:
    return answer(status, b"no", **(headers or {}))


RESET = b""


def push_service(host: str = "push.test") -> AbstractAsyncContextManager[PushService]:
    return answered_by(partial(PushService, host))
