"""A client's connection: it owns the socket, answers plain requests, and passes all others to hypercorn.

A plain request (`plain.py`) that the fast path knows is answered here, before hypercorn's protocol sees it. All other
bytes go to hypercorn. Answers keep the order of the requests: hypercorn gets no bytes while a plain request is
answered, and plain requests are answered here only while hypercorn is between two requests.

This class replaces hypercorn's own TCP server. In hypercorn a send waits without a bound, also while the server stops;
the answers to pings are not checked; and a connection stays open after the end of its WebSocket. Here every wait has a
deadline, and the end of a connection is the end of all its tasks.
"""

from __future__ import annotations

import logging
import os
import socket
import ssl
from contextlib import suppress
from math import inf

import trio
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.trio.task_group import TaskGroup
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import AppWrapper, ConnectionState
from hypercorn.utils import parse_socket_addr  # pyright: ignore[reportUnknownVariableType]  # takes an untyped tuple

from ..answers.refusals import overloaded
from . import limits
from .http1 import Http1
from .http2 import Http2
from .plain import FastRequests
from .stream_sockets import RESET, StreamOwner

READ_AT_ONCE = 64 * 1024  # bytes

Stream = trio.SSLStream[trio.SocketStream] | trio.SocketStream


class ClientConnection:
    """A client's connection. All its tasks end with it."""

    def __init__(
        self,
        app: AppWrapper,
        config: Config,
        context: WorkerContext,
        stream: trio.SocketStream,
        client: tuple[str, int],
        tls: ssl.SSLContext | None = None,
        fast: FastRequests | None = None,
    ) -> None:
        self._app = app
        self._config = config
        self._context = context
        self._socket = stream.socket
        self._encrypted = tls is not None
        self.stream: Stream = stream if tls is None else trio.SSLStream(stream, tls, server_side=True)
        self.protocol: Http1 | Http2 | None = None
        self._fast = fast
        self._client = client
        self._send_lock = trio.Lock()
        # Shielded, so that a cancelled server ends its connections by `abort`, which refuses their requests.
        self._scope = trio.CancelScope(shield=True)
        self._reading = trio.CancelScope()
        self._read_timeout = inf
        self._idle = False
        self._broken = False
        self._refusals = b""
        self._requests = trio.CancelScope()  # around hypercorn's part
        self._new_owner: StreamOwner | None = None

    def set_read_timeout(self, seconds: float) -> None:
        """From now on, close if the client sends nothing for this time."""
        self._read_timeout = seconds
        self._reading.deadline = trio.current_time() + seconds

    def reset_read_timeout(self) -> None:
        """Begin the read timeout again, because the client has sent or accepted bytes."""
        self._reading.deadline = trio.current_time() + self._read_timeout

    def begin_idle(self) -> None:
        """Begin the wait for the next request, which ends the connection if it takes too long."""
        self._idle = True
        self._reading.deadline = trio.current_time() + self._config.keep_alive_timeout
        if self._context.terminated.is_set():
            self._reading.cancel()

    def end_idle(self) -> None:
        """End the wait: a request has arrived."""
        self._idle = False
        self._reading.deadline = trio.current_time() + self._read_timeout
        if self._fast is not None:
            self._fast.resting.pop(self, None)

    def end_rest(self) -> None:
        """Close the connection, which has been without a request for too long."""
        self._reading.cancel()

    def close_if_idle(self) -> None:
        """Close the connection if no request is running, because the server stops."""
        if self._idle:
            self._reading.cancel()
        elif self.protocol is None:
            self._scope.cancel()

    def abort(self) -> None:
        """Refuse the requests whose answers have not begun, and close: the server's grace is over."""
        if self.protocol is not None and not self._scope.cancel_called:
            answers = self._fast is not None and self in self._fast.waiting
            self._refusals = overloaded().http_1(closes=True) if answers else self.protocol.refusals()
        self._scope.cancel()

    def fileno(self) -> int:
        return self._socket.fileno()

    def leave(self) -> None:
        """End the connection, because the client has closed it and will not read the answer."""
        self._broken = True
        self._scope.cancel()

    async def run(self) -> None:
        """Serve the client, and close the stream. An error here ends no other connection."""
        try:
            with self._scope:
                await self._serve()
            if not self._broken and self._new_owner is None:
                await self._close()
        except Exception:
            logging.getLogger("hypercorn.error").exception("A connection failed")
        finally:
            if self._fast is not None:
                self._fast.resting.pop(self, None)
            if self._new_owner is None:
                await trio.aclose_forcefully(self.stream)

    async def protocol_send(self, event: Event) -> None:
        """Called by the protocol classes to send, and to report that they are idle, busy or done."""
        if self._new_owner is not None:
            return  # the new owner has the connection now
        if isinstance(event, RawData):
            # An answer with a Content-Length ends with b"". After the end hypercorn would still send a 500.
            if event.data and not self._scope.cancel_called:
                await self.write(event.data)
        elif isinstance(event, Updated):
            self.begin_idle() if event.idle else self.end_idle()
        elif isinstance(event, Closed):
            self._scope.cancel()

    def hand_over(self, new_owner: StreamOwner) -> bool:
        """Give the socket to a stream, and end all tasks of this connection. `new_owner.lost` is called at the end.

        Return False if the stream has to stay with the HTTP server, because its bytes have to be encrypted.
        """
        if self._encrypted:
            return False
        self._new_owner = new_owner
        self._requests.cancel()
        return True

    def take_new_owner(self) -> tuple[socket.socket, StreamOwner, bytes] | None:
        """Return the open socket, its new owner, and the bytes that the client has already sent to the new owner.

        None if the socket was not handed over, or is closed.
        """
        new_owner, self._new_owner = self._new_owner, None
        if new_owner is None:
            return None
        if self._broken or self._scope.cancel_called:
            new_owner.lost()
            return None
        early = b"" if self.protocol is None else self.protocol.early_data()
        return socket.socket(fileno=self._socket.detach()), new_owner, early

    async def write(self, data: bytes | memoryview) -> None:
        """Send bytes. A cancelled write ends the connection: a part of a message may have been sent."""
        try:
            if left := self._write_at_once(data):
                async with self._send_lock:
                    with trio.fail_after(limits.SEND):
                        await self.stream.send_all(left)
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError):
            self._reset()
        except trio.Cancelled:
            self._reset()
            raise

    def _reset(self) -> None:
        """Close at once, with a reset: otherwise the kernel would keep the unsent bytes for minutes."""
        with suppress(OSError):  # closed already
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._broken = True
        self._scope.cancel()

    def _write_at_once(self, data: bytes | memoryview) -> bytes | memoryview:
        """Write as much as the kernel takes without waiting, which is nearly always all. Return the rest.

        A fan-out consists mostly of this call. Trio's own send and the lock were turned down: they go through its
        scheduler.
        """
        if self._encrypted or self._send_lock.locked():
            return data
        try:
            written = os.write(self._socket.fileno(), data)
        except BlockingIOError:
            return data
        except OSError:
            self._reset()
            return b""
        return b"" if written == len(data) else memoryview(data)[written:]

    async def _serve(self) -> None:
        kind = await self._negotiate()
        if kind is None:
            return
        try:
            server = parse_socket_addr(self._socket.family, self._socket.getsockname())
        except OSError:
            return  # The client is gone.
        with self._requests:
            await self._serve_by_hypercorn(kind, server)

    async def _serve_by_hypercorn(self, kind: type[Http1] | type[Http2], server: tuple[str, int] | None) -> None:
        async with TaskGroup() as tasks:
            # The application finds the connection in its scope's state, to hand it over (`streaming/connection.py`).
            state = ConnectionState({"connection": self})
            self.protocol = kind(
                self._app, self._config, self._context, tasks, state, self._encrypted, self._client, server,
                self.protocol_send,
            )  # fmt: skip
            await self.protocol.initiate()
            self.begin_idle()
            await self._read_requests(self.protocol)

    async def _negotiate(self) -> type[Http1] | type[Http2] | None:
        """Return the version of HTTP; None if the client does not finish the TLS handshake."""
        if not isinstance(self.stream, trio.SSLStream):
            return Http1
        try:
            with trio.fail_after(limits.TLS_HANDSHAKE):
                await self.stream.do_handshake()
        except (trio.BrokenResourceError, trio.TooSlowError):
            self._broken = True
            return None
        return Http2 if self.stream.selected_alpn_protocol() == "h2" else Http1

    async def _read_requests(self, protocol: Http1 | Http2) -> None:
        with self._reading:
            while data := await self._receive():
                if not self._idle:
                    self.reset_read_timeout()
                elif self._fast is not None and protocol.is_between_requests:
                    data = await self._answer_plain(self._fast, bytes(data))
                if data:
                    await protocol.handle(RawData(bytes(data)))
            await protocol.handle(RawData(b""))
            if protocol.is_answering:
                await trio.sleep(limits.LEFT)
        with trio.move_on_after(limits.CLOSE):
            await protocol.handle(Closed())
        self._scope.cancel()

    async def _answer_plain(self, fast: FastRequests, data: bytes) -> bytes:
        """Answer the plain requests at the start of the data. Return the rest, for hypercorn.

        A stopping server leaves all requests to hypercorn, which closes the connection after the next answer.
        """
        while data and not self._context.terminate.is_set():
            found = fast.first(data, self._client[0])
            if found is None:
                break
            answer, length = found
            self._end_rest(fast)
            fast.waiting.add(self)
            try:
                whole = await answer
            finally:
                fast.waiting.discard(self)
            await self.write(whole)
            self._begin_rest(fast)
            data = data[length:]
            if data:
                await trio.lowlevel.checkpoint()
        return data

    def _end_rest(self, fast: FastRequests) -> None:
        """End the wait for the next request.

        The wait after a plain request has no deadline in Trio, but an entry in `fast.resting`: to move a deadline costs
        more than most plain answers.
        """
        self._idle = False
        if fast.resting.pop(self, None) is None:
            self._reading.deadline = trio.current_time() + self._read_timeout

    def _begin_rest(self, fast: FastRequests) -> None:
        """Begin the wait for the next request, after a plain request."""
        self._idle = True
        fast.resting[self] = trio.current_time() + self._config.keep_alive_timeout
        if self._context.terminated.is_set():
            self._reading.cancel()

    async def _receive(self) -> bytes | bytearray:
        try:
            if self._encrypted:
                return await self.stream.receive_some(READ_AT_ONCE)
            while True:
                # Trio would first try to read, which fails: a client that waits for its answer has sent nothing yet.
                await trio.lowlevel.wait_readable(self._socket)
                with suppress(BlockingIOError):
                    return os.read(self._socket.fileno(), READ_AT_ONCE)
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            return b""

    async def _close(self) -> None:
        """Close so that the last answer arrives (RFC 9112, section 9.6).

        The kernel drops the answer if bytes of the client are unread, or come after the socket is closed.
        """
        try:
            with trio.move_on_after(limits.CLOSE, shield=True):
                if self._refusals:
                    await self.stream.send_all(self._refusals)
                if isinstance(self.stream, trio.SocketStream):
                    await self.stream.send_eof()
                    while self._client_may_be_sending and await self.stream.receive_some(READ_AT_ONCE):
                        pass
                await self.stream.aclose()
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            return

    @property
    def _client_may_be_sending(self) -> bool:
        return self._refusals != b"" or (self.protocol is not None and self.protocol.may_be_sending)
