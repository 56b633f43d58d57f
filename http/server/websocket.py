"""The WebSocket protocol, by hypercorn's stream class and wsproto. `streaming/` has the messages.

hypercorn always accepts `permessage-deflate`, and checks the size of a message after it was inflated: 60 kB become
60 MB. Here the extension is not offered, so a compressed frame is a protocol error. After an error of the client
hypercorn waits for the client to close; here the connection closes at once.
"""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace
from typing import Any

import h11
from hypercorn.protocol.events import Body, EndBody, Event, Request, Response, StreamClosed
from hypercorn.protocol.ws_stream import ASGIWebsocketState, FrameTooLargeError, WSStream
from wsproto.connection import Connection, ConnectionState, ConnectionType
from wsproto.events import CloseConnection, Message, Ping
from wsproto.frame_protocol import CloseReason

from ..answers.refusals import raw_headers, refusal

VERSION = b"13"  # the only one of the standard
KEY_BYTES = 16
LISTS = (b"connection", b"sec-websocket-protocol")  # headers of a handshake that may have several lines


class WebSocket(WSStream):
    """One WebSocket on a connection of its own."""

    app_put: Any

    async def handle(self, event: Event) -> None:
        if isinstance(event, Request):
            event = replace(event, headers=_with_lists_on_one_line(event.headers))
        before = self.closed
        await super().handle(event)
        if self.closed and not before and not isinstance(event, StreamClosed):
            # The handshake was refused, or data came before it was accepted. hypercorn leaves such a connection open.
            await self.send(StreamClosed(stream_id=self.stream_id))

    async def _accept(self, message: Any) -> None:
        self.state = ASGIWebsocketState.CONNECTED
        self.handshake.extensions = None
        status, headers, _ = self.handshake.accept(message.get("subprotocol"), message.get("headers", []))
        # The connection that hypercorn makes understands compressed frames even where they were not agreed on.
        self.connection = Connection(ConnectionType.SERVER)
        await self.send(Response(stream_id=self.stream_id, status_code=status, headers=headers))
        # hypercorn and wsproto leave the types of the three calls that pyright ignores here open.
        self.task_group.spawn(self._send_pings)  # pyright: ignore[reportUnknownMemberType]

    async def _handle_events(self) -> None:
        for event in self.connection.events():
            if isinstance(event, Message):
                try:
                    # All fragments of a message count together.
                    self.buffer.extend(event)  # pyright: ignore[reportUnknownMemberType]
                except FrameTooLargeError:
                    await self._end(CloseConnection(code=CloseReason.MESSAGE_TOO_BIG))
                    return
                if event.message_finished:
                    await self.app_put(self.buffer.to_message())  # pyright: ignore[reportUnknownMemberType]
                    self.buffer.clear()
            elif isinstance(event, Ping):
                await self._send_wsproto_event(event.response())
            elif isinstance(event, CloseConnection):
                # wsproto says by the same event that the client closes, and that a frame could not be read.
                asked = self.connection.state is ConnectionState.REMOTE_CLOSING
                await self._end(event.response() if asked else event)
                return

    async def _end(self, goodbye: CloseConnection) -> None:
        """Send a close frame and close the connection."""
        self.state = ASGIWebsocketState.CLOSED
        await self._send_wsproto_event(goodbye)
        await self.send(StreamClosed(stream_id=self.stream_id))

    async def _send_error_response(self, status_code: int) -> None:
        """Refuse a handshake."""
        answer = refusal(status_code)
        headers = [*raw_headers(answer), (b"connection", b"close")]
        await self.send(Response(stream_id=self.stream_id, status_code=status_code, headers=headers))
        await self.send(Body(stream_id=self.stream_id, data=answer.body))
        await self.send(EndBody(stream_id=self.stream_id))


def _with_lists_on_one_line(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Join the lines of each list, as RFC 9110 (section 5.3) reads them. hypercorn reads the last line alone."""
    lists = [(name, [value for other, value in headers if other == name]) for name in LISTS]
    others = [header for header in headers if header[0] not in LISTS]
    return [*others, *((name, b", ".join(lines)) for name, lines in lists if lines)]


def opens_websocket(request: h11.Request) -> bool:
    """True if a request asks for a WebSocket. Whether its handshake is valid is for `handshake_error`."""
    fields = dict(request.headers)
    if request.method != b"GET" or fields.get(b"upgrade", b"").lower() != b"websocket":
        return False
    tokens = (token.strip() for name, value in request.headers if name == b"connection" for token in value.split(b","))
    return any(token.lower() == b"upgrade" for token in tokens)


def handshake_error(request: h11.Request) -> int:
    """Return the status that refuses a handshake (RFC 6455, section 4.2.1); 0 if it is valid.

    A handshake with a body is not valid here: the frames would begin inside of it for a proxy that ignores the body.
    """
    keys = [value for name, value in request.headers if name == b"sec-websocket-key"]
    fields = dict(request.headers)
    has_body = b"transfer-encoding" in fields or int(fields.get(b"content-length", b"0")) > 0
    if has_body or request.http_version < b"1.1" or len(keys) != 1 or not _is_key(keys[0]):
        return 400
    # hypercorn fails on other values than ASCII.
    own = (value for name, value in request.headers if name == b"connection" or name.startswith(b"sec-websocket-"))
    if not all(value.isascii() for value in own):
        return 400
    return 0 if fields.get(b"sec-websocket-version") == VERSION else 426


def _is_key(text: bytes) -> bool:
    try:
        return len(b64decode(text, validate=True)) == KEY_BYTES
    except ValueError:
        return False
