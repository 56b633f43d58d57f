"""HTTP/1.1, by hypercorn's protocol class and h11, stricter than both, and the WebSockets that it changes to.

hypercorn switches to HTTP/2 on a plain connection when a client asks for it (h2c). A proxy in front does not see the
requests on such a connection, so they pass its rules and choose their own `X-Forwarded-For`. Here only ALPN in a TLS
handshake chooses HTTP/2.

h11 accepts lines that end in a bare LF, folded header lines, and bare CRs in the lines of chunks. Proxies read them
differently, which makes request smuggling possible.

The answer to some bytes depends on the bytes alone, and not on the packets in which they came or on other work
of the server. h11 applies its size limit only to incomplete heads, and treats bytes after the last request of
a connection as an error, which reaches hypercorn before or after the answer.

WebSockets are read by hypercorn's stream class and wsproto. `streaming/` reads the messages. hypercorn always accepts
`permessage-deflate`, and checks the size of a message after decompression: 60 kB become 60 MB. Here the extension is
not offered, so a compressed frame is a protocol error. After a client's error, hypercorn waits for the client to
close; here the connection closes at once.
"""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import replace
from typing import Any, cast

import h11
from h11._receivebuffer import ReceiveBuffer
from hypercorn.config import Config
from hypercorn.events import Closed, RawData, Updated
from hypercorn.protocol.events import Body, EndBody, Event, Request, Response, StreamClosed
from hypercorn.protocol.h11 import STREAM_ID, H11Protocol, H11WSConnection
from hypercorn.protocol.http_stream import HTTPStream
from hypercorn.protocol.ws_stream import ASGIWebsocketState, FrameTooLargeError, WSStream
from wsproto.connection import Connection, ConnectionState, ConnectionType
from wsproto.events import CloseConnection, Message, Ping
from wsproto.frame_protocol import CloseReason

from ..answers.refusals import overloaded, raw_headers, refusal
from .plain import HOST

MOST_HEADERS = 256  # requests with more get 431
# Bytes of chunk extensions in a body: the sum of the bytes of each chunk-size line beyond `PLAIN_CHUNK_LINE`. Node.js
# and Go have similar limits: otherwise a client could send a thousand bytes of extensions for each byte of the body.
MOST_EXTENSIONS = 16 * 1024
PLAIN_CHUNK_LINE = 32
BLANK_LINE = re.compile(rb"\n\r?\n")
# The target in the form for proxies, which servers have to accept too (RFC 9112, section 3.2.2).
ABSOLUTE_FORM = re.compile(rb"https?://([^/?#]+)([/?].*)?", re.IGNORECASE)
# The handshake of a WebSocket: the version of RFC 6455, the length of a key, and headers that may have several lines.
VERSION = b"13"
KEY_BYTES = 16
LISTS = (b"connection", b"sec-websocket-protocol")


class StrictLines(ReceiveBuffer):
    """h11's buffer of received bytes.

    h11 takes heads and trailers by `maybe_extract_lines`, and chunk-size lines by `maybe_extract_next_line`.
    """

    def __init__(self, largest_head: int) -> None:
        super().__init__()
        self._largest_head = largest_head
        self._extensions = 0  # bytes, in the body that is read

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """Return the lines up to the next blank line; None if it has not arrived.

        Raises LocalProtocolError for a bare LF or CR, and for folded lines.
        """
        self._extensions = 0
        if self._data.startswith(b"\r\n"):
            self._extract(2)
            return []
        # The search also finds a bare LF, so that it is refused at once.
        found = BLANK_LINE.search(self._data, self._multiple_lines_search)
        if (found.end() if found else len(self._data)) > self._largest_head:
            raise h11.LocalProtocolError("the head or the trailers are too long", error_status_hint=431)
        if found is None and not self._data.startswith(b"\n"):
            self._multiple_lines_search = max(0, len(self._data) - 2)
            return None
        head = self._extract(found.end() if found else 1)
        ends = head.count(b"\r\n")
        if head.count(b"\n") != ends or head.count(b"\r") != ends or b"\r\n " in head or b"\r\n\t" in head:
            raise h11.LocalProtocolError("lines must end in CRLF and may not be folded", error_status_hint=400)
        return head.split(b"\r\n")[:-2]

    def maybe_extract_next_line(self) -> bytearray | None:
        """The next chunk-size line; None if it has not arrived. Raises LocalProtocolError for a bare LF or CR."""
        end = self._data.find(b"\r\n", 0, MOST_EXTENSIONS)
        if end < 0 and len(self._data) < MOST_EXTENSIONS:
            return None
        line = self._extract(end + 2)
        self._extensions += max(0, len(line) - PLAIN_CHUNK_LINE)
        if end < 0 or self._extensions > MOST_EXTENSIONS or line.count(b"\r") > 1 or line.count(b"\n") > 1:
            raise h11.LocalProtocolError("the size of a chunk is not valid, or its extensions are too long")
        return line

    def skip_empty_lines(self) -> bool:
        """Drop empty lines before a request (RFC 9112, section 2.2). Return True if a lone CR is left."""
        while self._data.startswith(b"\r\n"):
            self._extract(2)
        return len(self._data) == 1 and self._data.startswith(b"\r")

    def clear(self) -> None:
        self._extract(len(self._data))


class StrictConnection(h11.Connection):
    """h11's state of a connection. Ignores empty lines before requests, and all bytes after the last request."""

    _receive_buffer: StrictLines

    def __init__(self, largest_head: int) -> None:
        super().__init__(h11.SERVER, max_incomplete_event_size=largest_head)
        self._receive_buffer = StrictLines(largest_head)

    @property
    def is_empty(self) -> bool:
        """True if all that was received has been read."""
        return not self._receive_buffer

    def next_event(self) -> Any:
        state = self.their_state
        if state is h11.MUST_CLOSE:
            self._receive_buffer.clear()
        elif state is h11.IDLE and self._receive_buffer.skip_empty_lines():
            return h11.NEED_DATA
        return super().next_event()


class PendingWebSocket(H11WSConnection):
    """The connection of a WebSocket. Frames that arrive before the answer to the handshake wait in its buffer."""

    def __init__(self, connection: h11.Connection) -> None:
        super().__init__(connection)
        self.is_accepted = False

    def next_event(self) -> Any:
        return super().next_event() if self.is_accepted or not self.buffer else h11.PAUSED


class Http1(H11Protocol):
    """One connection's requests and answers."""

    stream: Any
    connection: Any  # a StrictConnection, or the PendingWebSocket that takes its place

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        config: Config = self.config
        self.connection = StrictConnection(config.h11_max_incomplete_size)
        self._closes = False  # after the answer to the current request

    @property
    def may_be_sending(self) -> bool:
        """True if the client may still be sending bytes that will not be read."""
        return self.connection.their_state is not h11.IDLE

    @property
    def is_between_requests(self) -> bool:
        """True if every request has been answered, and nothing of the next request has arrived."""
        connection = self.connection
        if self.stream is not None or isinstance(connection, PendingWebSocket):
            return False
        return connection.their_state is h11.IDLE and connection.is_empty

    @property
    def is_answering(self) -> bool:
        """True if a whole request has arrived and its answer has not been sent."""
        return self.stream is not None and isinstance(self.connection, StrictConnection)

    def early_data(self) -> bytes:
        """Return the bytes that the client of a WebSocket has sent before its handshake was answered."""
        return bytes(self.connection.buffer) if isinstance(self.connection, PendingWebSocket) else b""

    def refusals(self) -> bytes:
        """Return the bytes that refuse the current request; none if its answer has begun."""
        connection = (
            self.connection.h11_connection if isinstance(self.connection, PendingWebSocket) else self.connection
        )
        return overloaded().http_1(closes=True) if connection.our_state is h11.SEND_RESPONSE else b""

    async def stream_send(self, event: Event) -> None:
        if isinstance(event, Response) and (self._closes or self.context.terminate.is_set()):
            event = replace(event, headers=_with_close(event))
        await super().stream_send(event)
        if isinstance(event, Response) and isinstance(self.connection, PendingWebSocket):
            self.connection.is_accepted = event.status_code == 101
            await self.can_read.set()

    async def _check_protocol(self, event: h11.Request) -> None:
        """Do nothing: the protocol is never changed."""

    async def _create_stream(self, request: h11.Request) -> None:
        """Hand a request to the application."""
        target, headers = _origin_form(request)
        websocket = opens_websocket(request)
        error = _error(request, target, headers) or (handshake_error(request) if websocket else 0)
        if error:
            await self._send_error_response(error)
            await self.send(Closed())
            return
        # A request with two lengths is ambiguous (RFC 9112, section 6.1), so no request after it is read.
        fields = dict(headers)
        self._closes = b"transfer-encoding" in fields and b"content-length" in fields
        kind = HTTPStream
        if websocket:
            kind = WebSocket
            self.connection = PendingWebSocket(cast("h11.Connection", self.connection))
        self.stream = kind(
            self.app, self.config, self.context, self.task_group, self.ssl, self.client, self.server,
            self.stream_send, STREAM_ID,
        )  # fmt: skip
        await self.stream.handle(
            Request(
                stream_id=STREAM_ID,
                headers=headers,
                http_version=request.http_version.decode(),
                method=request.method.decode("ascii"),
                raw_path=target,
                state=self.connection_state,
            )
        )
        self.keep_alive_requests += 1

    async def _send_error_response(self, status_code: int) -> None:
        """Refuse a request that is not valid HTTP, and close the connection."""
        await self.send(RawData(data=refusal(status_code).http_1(closes=True)))

    async def _maybe_recycle(self) -> None:
        """Get ready for the next request, or close.

        hypercorn first notifies the application that the request is over, and waits until the application receives it.
        An application that has answered without reading the whole body never does, so the connection would neither be
        ready nor close. So here the application is notified last.
        """
        stream, self.stream = self.stream, None
        if (
            not self.context.terminated.is_set()
            and self.connection.our_state is h11.DONE
            and self.connection.their_state is h11.DONE
        ):
            self.connection.start_next_cycle()
            await self.can_read.set()
            await self.send(Updated(idle=True))
        else:
            await self.can_read.set()
            await self.send(Closed())
        if stream is not None:
            await stream.handle(StreamClosed(stream_id=STREAM_ID))


def _with_close(event: Response) -> list[tuple[bytes, bytes]]:
    """Return the headers with `Connection: close`, unless the answer changes to a WebSocket."""
    return event.headers if event.status_code < 200 else [*event.headers, (b"connection", b"close")]


def _origin_form(request: h11.Request) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """Return the path with the query, and the headers. A host in the target replaces the header (RFC 9112, 3.2.2)."""
    headers = list(request.headers)
    absolute = ABSOLUTE_FORM.fullmatch(request.target)
    if absolute is None:
        return request.target, headers
    host, target = absolute[1], absolute[2] or b"/"
    headers = [(b"host", host), *(header for header in headers if header[0] != b"host")]
    return target if target.startswith(b"/") else b"/" + target, headers


def _error(request: h11.Request, target: bytes, headers: list[tuple[bytes, bytes]]) -> int:
    """Return the status that refuses a request which h11 takes; 0 if there is no error."""
    if not request.http_version.startswith(b"1."):
        return 400
    if len(headers) > MOST_HEADERS:
        return 431
    if not request.method.isupper():
        return 501  # methods are case-sensitive, but not for the framework behind
    if request.method == b"CONNECT" or not (target.startswith(b"/") or (request.method, target) == (b"OPTIONS", b"*")):
        return 400
    return 0 if all(HOST.fullmatch(value) for name, value in headers if name == b"host") else 400


class WebSocket(WSStream):
    """A WebSocket on a connection of its own."""

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
        # hypercorn's own connection reads compressed frames even if the handshake did not agree on them.
        self.connection = Connection(ConnectionType.SERVER)
        await self.send(Response(stream_id=self.stream_id, status_code=status, headers=headers))
        # hypercorn and wsproto have no complete types for the three calls that pyright ignores here.
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
                # wsproto has one event for a client that closes and for a frame that could not be read.
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
    """True if a request asks for a WebSocket. `handshake_error` checks the handshake."""
    fields = dict(request.headers)
    if request.method != b"GET" or fields.get(b"upgrade", b"").lower() != b"websocket":
        return False
    tokens = (token.strip() for name, value in request.headers if name == b"connection" for token in value.split(b","))
    return any(token.lower() == b"upgrade" for token in tokens)


def handshake_error(request: h11.Request) -> int:
    """Return the status that refuses a handshake (RFC 6455, section 4.2.1); 0 if it is valid.

    A handshake with a body is not valid here: a proxy that ignores the body would take it for frames.
    """
    keys = [value for name, value in request.headers if name == b"sec-websocket-key"]
    fields = dict(request.headers)
    has_body = b"transfer-encoding" in fields or int(fields.get(b"content-length", b"0")) > 0
    if has_body or request.http_version < b"1.1" or len(keys) != 1 or not _is_key(keys[0]):
        return 400
    # hypercorn fails on values that are not ASCII.
    own = (value for name, value in request.headers if name == b"connection" or name.startswith(b"sec-websocket-"))
    if not all(value.isascii() for value in own):
        return 400
    return 0 if fields.get(b"sec-websocket-version") == VERSION else 426


def _is_key(text: bytes) -> bool:
    try:
        return len(b64decode(text, validate=True)) == KEY_BYTES
    except ValueError:
        return False
