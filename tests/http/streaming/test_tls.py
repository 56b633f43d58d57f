"""Streams over TLS, which the HTTP server sends: their connections are not handed over."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import trio
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Event, Ping, Request, TextMessage

from troupe.http.streaming import websocket

from ...clients import Person, Stage
from ..serving import PATIENCE, Serving, connect_by_tls, serving, tls_server
from .conftest import read_to_the_end

pytestmark = pytest.mark.usefixtures("both_ways")

COMMAND = '{"type":"subscribe","stream":"nonsense"}'


class EncryptedSocket:
    """A WebSocket over TLS, frame by frame."""

    def __init__(self, stream: trio.SSLStream[trio.SocketStream]) -> None:
        self.stream = stream
        self.protocol = WSConnection(ConnectionType.CLIENT)

    async def say(self, event: Event) -> None:
        await self.stream.send_all(self.protocol.send(event))

    async def hear(self, kind: type[Event]) -> Event:
        """The next event of this kind."""
        with trio.fail_after(PATIENCE):
            while True:
                for event in self.protocol.events():
                    if isinstance(event, kind):
                        return event
                self.protocol.receive_data(bytes(await self.stream.receive_some()))


@asynccontextmanager
async def opened(server: Serving, token: str) -> AsyncGenerator[EncryptedSocket]:
    async with await connect_by_tls(server, "http/1.1") as stream:
        socket = EncryptedSocket(stream)
        await socket.say(Request("localhost", f"/api/v1/streaming?stream=user&access_token={token}"))
        await socket.hear(AcceptConnection)
        yield socket
        await trio.aclose_forcefully(stream)


async def test_a_websocket_is_sent_events_answers_and_the_end(stage: Stage, ada: Person) -> None:
    async with serving(stage, encryption=tls_server()) as server, opened(server, ada.token or "") as socket:
        await socket.say(TextMessage(COMMAND))
        answer = await socket.hear(TextMessage)
        assert isinstance(answer, TextMessage)
        assert "Unknown stream type" in answer.data
        await ada.publish("hello")
        event = await socket.hear(TextMessage)
        assert isinstance(event, TextMessage)
        assert "hello" in event.data
        stage.http_context.streams.close_all()
        end = await socket.hear(CloseConnection)
        assert isinstance(end, CloseConnection)
        assert end.code == 1012


async def test_a_client_that_answers_no_ping_is_cut(stage: Stage, ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "READ_TIMEOUT", 0.3)
    async with serving(stage, encryption=tls_server()) as server, opened(server, ada.token or "") as socket:
        await socket.hear(Ping)
        await read_to_the_end(socket.stream)
