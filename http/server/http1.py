"""HTTP/1.1, by hypercorn's protocol class and h11, stricter than both.

hypercorn switches to HTTP/2 on a plain connection when a client asks for it (h2c). A proxy in front does not see the
requests on such a connection, so they pass its rules and choose their own `X-Forwarded-For`. Here HTTP/2 is only chosen
by ALPN in a TLS handshake.

h11 accepts lines that end in a bare LF, and folded header lines. Proxies read them differently, which makes request
smuggling possible.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, cast

import h11
from h11._receivebuffer import ReceiveBuffer
from hypercorn.events import Closed, RawData, Updated
from hypercorn.protocol.events import Event, Request, Response, StreamClosed
from hypercorn.protocol.h11 import STREAM_ID, H11Protocol, H11WSConnection
from hypercorn.protocol.http_stream import HTTPStream

from ..answers.refusals import overloaded, refusal
from .websocket import WebSocket

HANDSHAKE = (b"connection", b"upgrade")
MOST_HEADERS = 256  # requests with more get 431
BLANK_LINE = re.compile(rb"\n\r?\n")


class StrictLines(ReceiveBuffer):
    """h11's buffer of received bytes. All heads and trailers are taken out of it by `maybe_extract_lines`."""

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """The lines up to the next blank line; None while it is not there. Raises for a bare LF or CR and obs-fold."""
        if self._data.startswith(b"\r\n"):
            self._extract(2)
            return []
        # A bare LF counts in the search, so that it is refused at once and not waited on.
        found = BLANK_LINE.search(self._data, self._multiple_lines_search)
        if found is None and not self._data.startswith(b"\n"):
            self._multiple_lines_search = max(0, len(self._data) - 2)
            return None
        head = self._extract(found.end() if found else 1)
        ends = head.count(b"\r\n")
        if head.count(b"\n") != ends or head.count(b"\r") != ends or b"\r\n " in head or b"\r\n\t" in head:
            raise h11.LocalProtocolError("lines must end in CRLF and may not be folded", error_status_hint=400)
        return head.split(b"\r\n")[:-2]


class Http1(H11Protocol):
    """One connection's requests and answers."""

    stream: Any

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        cast("Any", self.connection)._receive_buffer = StrictLines()
        self._closes = False  # after the answer to the current request

    @property
    def may_be_sending(self) -> bool:
        """True if the client may still be sending bytes that will not be read."""
        return self.connection.their_state in (None, h11.SEND_BODY, h11.ERROR)

    @property
    def is_between_requests(self) -> bool:
        """True if every request has been answered, and nothing of the next one has arrived."""
        if self.stream is not None:
            return False
        connection: Any = self.connection
        return connection.their_state is h11.IDLE and not connection._receive_buffer

    def refusals(self) -> bytes:
        """The bytes that refuse the current request, if its answer has not begun."""
        connection: Any = getattr(self.connection, "h11_connection", self.connection)
        return overloaded().http_1(closes=True) if connection.our_state is h11.SEND_RESPONSE else b""

    async def stream_send(self, event: Event) -> None:
        if isinstance(event, Response) and (self._closes or self.context.terminate.is_set()):
            event = replace(event, headers=_with_close(event))
        await super().stream_send(event)

    async def _check_protocol(self, event: h11.Request) -> None:
        """Do nothing: the protocol is never changed."""

    async def _create_stream(self, request: h11.Request) -> None:
        """Hand a request to the application."""
        headers = list(request.headers)
        if len(headers) > MOST_HEADERS:
            await self._send_error_response(431)
            await self.send(Closed())
            return
        fields = dict(headers)
        websocket = b"upgrade" in fields and _opens_websocket(request, fields[b"upgrade"])
        if not request.http_version.startswith(b"1.") or (websocket and not _is_readable(headers)):
            await self._send_error_response(400)
            await self.send(Closed())
            return
        # A request with two lengths may mean two things (RFC 9112, section 6.1). Nothing that follows is trusted.
        self._closes = b"transfer-encoding" in fields and b"content-length" in fields
        kind = HTTPStream
        if websocket:
            kind = WebSocket
            self.connection = H11WSConnection(cast("h11.Connection", self.connection))
        self.stream = kind(
            self.app, self.config, self.context, self.task_group, self.ssl, self.client, self.server,
            self.stream_send, STREAM_ID,
        )  # fmt: skip
        await self.stream.handle(
            Request(
                stream_id=STREAM_ID,
                headers=headers,
                http_version=request.http_version.decode(),
                method=request.method.decode("ascii").upper(),
                raw_path=request.target,
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
        One that has answered without reading the whole body never does: the connection would be neither ready nor
        closed. So here the application is notified last.
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


def _opens_websocket(request: h11.Request, upgrade: bytes) -> bool:
    if request.method != b"GET" or upgrade.strip().lower() != b"websocket":
        return False
    tokens = (token.strip() for name, value in request.headers if name == b"connection" for token in value.split(b","))
    return any(token.lower() == b"upgrade" for token in tokens)


def _is_readable(headers: list[tuple[bytes, bytes]]) -> bool:
    """True if all of a handshake's own headers are ASCII. hypercorn fails on other ones."""
    return all(value.isascii() for name, value in headers if name in HANDSHAKE or name.startswith(b"sec-websocket-"))
