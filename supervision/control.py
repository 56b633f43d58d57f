"""A node's control socket, `<data>/control-<node>.sock`: one JSON line in, one out, for commands on its machine."""

from __future__ import annotations

import fcntl
import os
import socket
from array import array
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import orjson
import trio

from ..actors.kernel.errors import describe

LONGEST_QUESTION = 4096
# The command by which the next server takes the listening sockets over.
LISTENERS = "listeners"
HAND_OVER = orjson.dumps({"command": LISTENERS}) + b"\n"
MOST_SOCKETS = 16
PATIENCE = 5.0  # seconds that a caller has to send its question


class Control:
    """Answers commands. `answers` has a function for each name."""

    def __init__(
        self, path: Path, answers: dict[str, Callable[[], object]], hand_over: Callable[[], list[socket.socket]] = list
    ) -> None:
        self._path = path
        self._answers = answers | {LISTENERS: _nothing}
        self._hand_over = hand_over
        self._inode = 0  # of this server's socket

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        listener = trio.SocketListener(self._bind())
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.serve_listeners, self._answer, [listener])
                task_status.started()
                await stopping.wait()
                nursery.cancel_scope.cancel()
        finally:
            self._remove()

    def _bind(self) -> trio.socket.SocketType:
        """Replace the socket at the path: it belongs to a server that has ended, or that this one took over from."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with _locked(self._path.parent) as folder:
            new = self._path.with_suffix(".new")
            new.unlink(missing_ok=True)
            mask = os.umask(0o177)
            try:
                # Through the open folder: a socket's name holds 107 bytes, and a data folder's may be longer.
                listener.bind(f"/proc/self/fd/{folder}/{new.name}")
            finally:
                os.umask(mask)
            listener.listen()
            self._inode = new.stat().st_ino
            new.replace(self._path)
        return trio.socket.from_stdlib_socket(listener)

    def _remove(self) -> None:
        """Remove the socket, unless a server that took over has replaced it."""
        with _locked(self._path.parent), suppress(FileNotFoundError):
            if self._path.lstat().st_ino == self._inode:
                self._path.unlink()

    async def _answer(self, stream: trio.SocketStream) -> None:
        with trio.move_on_after(PATIENCE):
            try:
                line = await _line(stream)
                answer = orjson.dumps(self._reply(line), default=str) + b"\n"
                if line == HAND_OVER and (sockets := self._hand_over()):
                    descriptors = array("i", [one.fileno() for one in sockets])
                    await stream.socket.sendmsg([answer], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
                else:
                    await stream.send_all(answer)
            except trio.BrokenResourceError:
                return

    def _reply(self, line: bytes) -> object:
        try:
            answer = self._answers.get(orjson.loads(line)["command"])
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return {"error": "one JSON object with a command, please"}
        try:
            return answer() if answer else {"error": "unknown command"}
        except Exception as error:  # an error in an answer must not end the socket and its listener
            return {"error": describe(error)}


def _nothing() -> object:
    return {}


def ask_for_sockets(path: Path) -> list[socket.socket]:
    """Return the listening sockets of the running server; none if there is no server, or an earlier version."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(PATIENCE)
        try:
            with short_name(path) as name:
                line.connect(name)
            line.sendall(HAND_OVER)
            _, descriptors, _, _ = socket.recv_fds(line, LONGEST_QUESTION, MOST_SOCKETS)
        except OSError:
            return []
    sockets = [socket.socket(fileno=descriptor) for descriptor in descriptors]
    for one in sockets:
        one.setblocking(False)
        one.set_inheritable(False)
    return sockets


@contextmanager
def short_name(path: Path) -> Generator[str]:
    """Return a path through an open folder: a socket's name holds 107 bytes, and a data folder's may be longer."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


@contextmanager
def _locked(folder: Path) -> Generator[int]:
    """Lock the folder between servers, so that none removes the socket of another."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


async def _line(stream: trio.SocketStream) -> bytes:
    line = b""
    while not line.endswith(b"\n") and len(line) < LONGEST_QUESTION:
        part = await stream.receive_some(LONGEST_QUESTION)
        if not part:
            break
        line += part
    return line
