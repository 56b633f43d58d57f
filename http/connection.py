"""hypercorn's connection, made to let go: of clients that stop reading, that fall silent, or that are gone.

As hypercorn has it, a send waits for as long as the client likes and can't be cancelled, so that one client that stops
reading keeps its connection, and a stopping server, for ever; pings go out and nobody looks for their answer; and after
the end of a WebSocket its connection lives on until the next ping is due.
"""

from __future__ import annotations

import logging
import os
from math import inf
from typing import Any, cast

import trio
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import AppWrapper, ConnectionState

# A client that takes nothing of what it is sent for so long is gone.
SEND_SECONDS = 60
READ_AT_ONCE = 64 * 1024

Stream = trio.SSLStream[trio.SocketStream] | trio.SocketStream


class Connection(TCPServer):
    """One client's connection. Its end is the end of every task that belongs to it."""

    def __init__(self, app: AppWrapper, config: Config, context: WorkerContext, stream: Stream) -> None:
        # The application finds it in its scope's state: `streaming/wire.py` says what for.
        state = ConnectionState({"wire": self})
        super().__init__(app, config, context, state, cast("trio.SSLStream[trio.SocketStream]", stream))
        self.idle_task = cast("Any", Idleness(self))
        self._life = trio.CancelScope()
        self._hearing = trio.CancelScope()
        self._patience = inf
        self._idle = False
        self._plain = stream.socket if isinstance(stream, trio.SocketStream) else None

    def expect_traffic(self, within: float) -> None:
        """From now on, end when nothing was heard for so many seconds."""
        self._patience = within
        self._hearing.deadline = trio.current_time() + within

    def rest(self) -> None:
        """Between two requests: end when the next one takes too long."""
        self._idle = True
        self._hearing.deadline = trio.current_time() + self.config.keep_alive_timeout
        if self.context.terminated.is_set():
            self._hearing.cancel()

    def work(self) -> None:
        """A request is here."""
        self._idle = False
        self._hearing.deadline = trio.current_time() + self._patience

    def leave(self) -> None:
        """The server stops: end, if there is nothing to be done."""
        if self._idle:
            self._hearing.cancel()

    async def run(self) -> None:
        """Serve the client. What goes wrong here is no other connection's concern."""
        try:
            with self._life:
                await super().run()
        except Exception:
            logging.getLogger("hypercorn.error").exception("A connection failed")

    async def protocol_send(self, event: Event) -> None:
        if not isinstance(event, RawData):
            await super().protocol_send(event)
        elif event.data:  # else it is the end of an answer whose length was told
            await self.write(event.data)

    async def write(self, data: bytes) -> None:
        """Write; a write that was given up half-way has ruined the connection, so that it ends."""
        left = memoryview(data)
        try:
            if not self.send_lock.locked():
                left = left[self._send_at_once(left) :]
            if left:
                async with self.send_lock:
                    with trio.fail_after(SEND_SECONDS):
                        await self.stream.send_all(left)
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError):
            self._life.cancel()
        except trio.Cancelled:
            self._life.cancel()
            raise

    def _send_at_once(self, data: memoryview) -> int:
        """Give the kernel what it takes without waiting, which is nearly always all; a fan-out is mostly this call.
        Trio's own send would go through its scheduler, and so would the lock."""
        if self._plain is None:
            return 0
        try:
            return os.write(self._plain.fileno(), data)
        except BlockingIOError:
            return 0

    async def _read_data(self) -> None:
        with self._hearing:
            while data := await self._receive():
                if not self._idle:
                    self._hearing.deadline = trio.current_time() + self._patience
                await self.protocol.handle(RawData(bytes(data)))
            await self.protocol.handle(RawData(b""))
        await self.protocol.handle(Closed())
        self._life.cancel()

    async def _receive(self) -> Any:
        try:
            return await self.stream.receive_some(READ_AT_ONCE)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return b""

    async def _close(self) -> None:
        try:
            await super()._close()
        finally:
            self._life.cancel()


class Idleness:
    """In place of hypercorn's timer of idle connections, which is a task that is started after each request and
    cancelled by the next one: here a deadline moves."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def restart(self, task_group: Any, action: Any) -> None:
        self._connection.rest()

    async def stop(self) -> None:
        self._connection.work()
