"""The control socket: `<data>/control.sock`, one JSON line in, one out, for the command line of the same machine."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import orjson
import trio

from ..actors.kernel.pool import describe

LONGEST_QUESTION = 4096
PATIENCE = 5.0  # seconds a caller has for its question


class Control:
    """Answers commands from `answers`: a name, and a function that makes the answer."""

    def __init__(self, path: Path, answers: dict[str, Callable[[], object]]) -> None:
        self._path = path
        self._answers = answers

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        listener = trio.SocketListener(self._bind())
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.serve_listeners, self._answer, [listener])
            task_status.started()
            await stopping.wait()
            nursery.cancel_scope.cancel()
        self._path.unlink(missing_ok=True)

    def _bind(self) -> trio.socket.SocketType:
        """What lies at the path is from a server that is no more: the data folder is ours while we hold the term."""
        self._path.unlink(missing_ok=True)
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            mask = os.umask(0o177)
            try:
                # By way of the open folder: a socket's name holds 107 bytes, a data folder's may be longer.
                listener.bind(f"/proc/self/fd/{folder}/{self._path.name}")
            finally:
                os.umask(mask)
        finally:
            os.close(folder)
        listener.listen()
        return trio.socket.from_stdlib_socket(listener)

    async def _answer(self, stream: trio.SocketStream) -> None:
        with trio.move_on_after(PATIENCE):
            try:
                await stream.send_all(orjson.dumps(self._reply(await _line(stream)), default=str) + b"\n")
            except trio.BrokenResourceError:
                return

    def _reply(self, line: bytes) -> object:
        try:
            answer = self._answers.get(orjson.loads(line)["command"])
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return {"error": "one JSON object with a command, please"}
        try:
            return answer() if answer else {"error": "unknown command"}
        except Exception as error:  # a question must not take the socket down, and the listener with it
            return {"error": describe(error)}


async def _line(stream: trio.SocketStream) -> bytes:
    line = b""
    while not line.endswith(b"\n") and len(line) < LONGEST_QUESTION:
        part = await stream.receive_some(LONGEST_QUESTION)
        if not part:
            break
        line += part
    return line
