"""The address on which metrics and health are read: a small HTTP server that is not the public one.

It starts before all other parts and stops after them. So it answers while the database is away, and it says that the
server starts or stops. It reads no more than the first line of a request, and closes each connection after the answer.

A new client is never kept waiting by slow ones: if there are too many, the client that has kept it waiting for the
longest time is cut off.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path

import orjson
import trio

from ...actors.kernel import Record
from ...http.access.operations import Readiness, explained
from ...http.server.listener import bind, bind_path
from ..failures import CannotListen
from .exposition import CONTENT_TYPE, Exposition

PATIENCE = 10.0  # seconds for a request and its answer
HEAD_PATIENCE = 2.0  # seconds in which a client sends its request, which fits into one packet
LONGEST_HEAD = 8 * 1024
MOST_CLIENTS = 16  # that keep the server waiting at a time
MOST_SCRAPES = 4  # at a time
PORT_FREE = 0.25  # seconds between two tries to bind
JSON = "application/json; charset=utf-8"
TEXT = "text/plain; charset=utf-8"

Place = Path | tuple[str, int]
Reply = tuple[int, str, bytes]  # a status, a content type and a body


class MetricsServer:
    """Answers on an address or a Unix socket. `waits` means that another server may still have that address."""

    def __init__(
        self, place: Place, exposition: Exposition, readiness: Readiness, record: Record, *, waits: bool
    ) -> None:
        self._place = place
        self._record = record
        self._readiness = readiness
        self._exposition = exposition
        self._waits = waits
        # The clients that send their request or take their answer, the earliest at the front.
        self._slow: dict[object, trio.CancelScope] = {}
        self._scrapes = trio.CapacityLimiter(MOST_SCRAPES)
        self._answers: dict[str, Callable[[], Awaitable[tuple[int, str, bytes]]]] = {
            "/metrics": self._metrics, "/health/live": self._live, "/health/ready": self._ready
        }  # fmt: skip

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        """Answer until `stopping`."""
        bound = self._bound()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._exposition.run)
            nursery.start_soon(self._serve, bound)
            task_status.started()
            await stopping.wait()
            nursery.cancel_scope.cancel()
        if isinstance(self._place, Path):
            self._place.unlink(missing_ok=True)

    def _bound(self) -> list[socket.socket]:
        """Return the listening sockets; none if another server still has the address, and will give it up."""
        try:
            return [bind_path(self._place)] if isinstance(self._place, Path) else bind([self._place])
        except OSError as error:
            if self._waits and error.errno == errno.EADDRINUSE:
                return []
            place = self._place if isinstance(self._place, Path) else ":".join(map(str, self._place))
            raise CannotListen(
                f"can't listen on {place} for metrics ({error.strerror or error}): end the other program, or choose"
                " another --metrics"
            ) from error

    async def _serve(self, bound: list[socket.socket]) -> None:
        while not bound:
            await trio.sleep(PORT_FREE)
            bound = self._bound()
        listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(listener)) for listener in bound]
        await trio.serve_listeners(self._answer, listeners)

    async def _answer(self, stream: trio.SocketStream) -> None:
        try:
            with trio.move_on_after(PATIENCE):
                async with stream:
                    with self._waiting(HEAD_PATIENCE) as cut:
                        method, path = await _first_line(stream)
                    if cut.cancelled_caught:
                        return
                    status, kind, body = await self._reply(method, path)
                    with self._waiting(PATIENCE):
                        await stream.send_all(_head(status, kind, len(body)) + (b"" if method == "HEAD" else body))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return  # The client is gone.

    @contextmanager
    def _waiting(self, patience: float) -> Generator[trio.CancelScope]:
        """Wait for a client in this block. If there are too many, the slowest is cut."""
        if len(self._slow) >= MOST_CLIENTS:
            self._slow.pop(next(iter(self._slow))).cancel()
        client = object()
        try:
            with trio.move_on_after(patience) as scope:
                self._slow[client] = scope
                yield scope
        finally:
            self._slow.pop(client, None)

    async def _reply(self, method: str, path: str) -> Reply:
        answer = self._answers.get(path.partition("?")[0])
        if answer is None:
            return 404, TEXT, b"/metrics, /health/live and /health/ready are here.\n"
        if method not in ("GET", "HEAD"):
            return 405, TEXT, b"GET, please.\n"
        try:
            return await answer()
        except Exception as error:  # All other parts start after this part, and would restart with it.
            self._record("request.failed", message=f"{method} {path}", error=error, decision="500")
            return 500, TEXT, b"This failed; the log of the server says why.\n"

    async def _metrics(self) -> Reply:
        async with self._scrapes:
            return 200, CONTENT_TYPE, await self._exposition.text(ready=not await self._readiness.obstacles())

    async def _live(self) -> Reply:
        return 200, JSON, orjson.dumps({"status": "UP"})

    async def _ready(self) -> Reply:
        obstacles = await self._readiness.obstacles()
        if obstacles:
            return 503, JSON, orjson.dumps({"error": explained(obstacles), "details": {"obstacles": obstacles}})
        return 200, JSON, orjson.dumps({"status": "UP"})


async def _first_line(stream: trio.SocketStream) -> tuple[str, str]:
    """Return the method and the target of a request, after its whole head was read."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < LONGEST_HEAD and (part := await stream.receive_some(LONGEST_HEAD)):
        head += part
    method, target, *_ = [*head.partition(b"\r\n")[0].decode("latin-1").split(" "), "", ""]
    return method, target


def _head(status: int, kind: str, length: int) -> bytes:
    return (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    ).encode()
