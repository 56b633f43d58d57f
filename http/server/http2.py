"""HTTP/2, by hypercorn's protocol class, with a deadline for every wait. Only a TLS handshake chooses it, by ALPN.

A client's flow control windows decide when data is sent. A client that never opens them would hold a request, its
connection and a stopping server for ever.
"""

from __future__ import annotations

from typing import Any

import h2.errors
import h2.events
import h2.exceptions
import h2.settings
import trio
from hypercorn.events import Closed, Updated
from hypercorn.protocol.events import Event, StreamClosed
from hypercorn.protocol.h2 import H2Protocol
from hypercorn.protocol.http_stream import ASGIHTTPState

from ..answers.refusals import overloaded, raw_headers
from . import limits

LENGTH = b"content-length"


class Http2(H2Protocol):
    """The requests and answers of a connection."""

    streams: dict[int, Any]
    may_be_sending = False
    is_between_requests = False  # the fast path reads only HTTP/1.1
    is_answering = False  # with TLS, a client that has shut down its sending side has left

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        # hypercorn also offers WebSockets inside of HTTP/2 (RFC 8441). Without the offer clients open them on a
        # connection of their own, by HTTP/1.1.
        codes = h2.settings.SettingCodes
        self.connection.local_settings = h2.settings.Settings(
            client=False,
            initial_values={
                codes.MAX_CONCURRENT_STREAMS: self.config.h2_max_concurrent_streams,
                codes.MAX_HEADER_LIST_SIZE: self.config.h2_max_header_list_size,
            },
        )

    def early_data(self) -> bytes:
        """Return nothing: no connection of HTTP/2 is handed over."""
        return b""

    def refusals(self) -> bytes:
        """Return the bytes that refuse all requests whose answers have not begun."""
        answer = overloaded()
        headers = [(b":status", b"%d" % answer.status), *raw_headers(answer)]
        for number, stream in self.streams.items():
            if stream.state is ASGIHTTPState.REQUEST:
                self._refuse(number, headers, answer.body)
        return self.connection.data_to_send()

    def _refuse(self, number: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        try:
            if self.connection.local_flow_control_window(number) < len(body):
                short = [header for header in headers if header[0] != LENGTH]
                self.connection.send_headers(number, short, end_stream=True)
            else:
                self.connection.send_headers(number, headers)
                self.connection.send_data(number, body, end_stream=True)
        except h2.exceptions.ProtocolError:
            return  # The client has ended this stream.

    async def _handle_events(self, events: list[h2.events.Event]) -> None:
        """Skip data of requests that are over, which would end the connection with a KeyError."""
        for event in events:
            if isinstance(event, h2.events.DataReceived) and event.stream_id not in self.streams:
                self.connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            else:
                await super()._handle_events([event])
        await self._flush()

    async def stream_send(self, event: Event) -> None:
        with trio.move_on_after(limits.SEND) as patience:
            await super().stream_send(event)
        if patience.cancelled_caught:
            await self.send(Closed())

    async def _create_stream(self, request: h2.events.RequestReceived) -> None:
        if any(header == (b":method", b"CONNECT") for header in request.headers):
            self.connection.reset_stream(request.stream_id, h2.errors.ErrorCodes.REFUSED_STREAM)
        else:
            await super()._create_stream(request)

    async def _close_stream(self, stream_id: int) -> None:
        """Remove a request that is over. The application is notified last, as in `Http1._maybe_recycle`."""
        stream = self.streams.pop(stream_id, None)
        if stream is not None:
            await self.send(Updated(idle=not self.streams))
            await self.has_data.set()
            await stream.handle(StreamClosed(stream_id=stream_id))
