"""A node's control socket, `<data>/control-<node>.sock`: one JSON line in, one out, for commands on its machine.

A question is `{"command": "actor", "address": "home/7"}`: the name of an answer, and its arguments. While a turn keeps
the loop busy nothing is accepted here. The thread of the watchdog then answers in its place, as far as it can.
"""

from __future__ import annotations

import fcntl
import inspect
import os
import select
import socket
import time
from array import array
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

import orjson
import trio

from ..actors.kernel.errors import describe
from ..storage.engine.json_values import JsonObject
from .short_names import short_name

LONGEST_QUESTION = 4096
# The command by which the next server takes the listening sockets over.
LISTENERS = "listeners"
HAND_OVER = orjson.dumps({"command": LISTENERS}) + b"\n"
MOST_SOCKETS = 16
# The command with which the next server asks this server to finish its requests, before it takes over the database.
DRAIN = "drain"
# The command with which the next server says that it does not start, so that this server serves again at once.
RESUME = "resume"
PATIENCE = 5.0  # seconds that a caller has to send its question
HURRIED_PATIENCE = 0.5  # the patience of the watchdog's thread, which has other duties
LOOKS = 4  # of the thread at a caller that waits, until it answers
MOST_AT_ONCE = 10  # callers that the thread answers in a row

WAITS = b"false\n"  # the answer to DRAIN while requests are running

# Called with the arguments of the question by name. The result is sent as JSON. It may be async.
Answer: TypeAlias = Callable[..., object]


class Unanswerable(Exception):
    """Raised by an answer function when it has no answer. The caller is shown the text."""


class ControlSocket:
    """Answers commands. `answers` has a function for each name.

    `answers_outside` has the functions that a thread can call while a turn keeps the loop busy. `hand_over` gives the
    listening sockets to the next server.
    """

    def __init__(
        self,
        path: Path,
        answers: Mapping[str, Answer],
        hand_over: Callable[[], list[socket.socket]] = list,
        *,
        answers_outside: Mapping[str, Answer] | None = None,
    ) -> None:
        self._path = path
        self._answers = {**answers, LISTENERS: _nothing}
        self._answers_outside = answers_outside or {}
        self._hand_over = hand_over
        self._inode = 0  # of this server's socket
        self._listening: socket.socket | None = None
        self._in_vain = 0  # how often in a row the thread has found a caller that waits

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        listener = trio.SocketListener(self._bind())
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.serve_listeners, self._answer, [listener])
                task_status.started()
                await stopping.wait()
                nursery.cancel_scope.cancel()
        finally:
            self._listening = None
            self._remove()

    def answer_outside(self) -> None:
        """Answer callers that have waited for a while: the loop does not. Called repeatedly in another thread."""
        listening = self._listening
        if listening is None or not _is_readable(listening):
            self._in_vain = 0
            return
        self._in_vain += 1
        if self._in_vain < LOOKS:
            return
        for _ in range(MOST_AT_ONCE):
            try:
                line, _ = listening.accept()
            except OSError:  # the reader has left, or the loop was faster
                return
            with line, suppress(OSError):
                line.settimeout(HURRIED_PATIENCE)
                with line.makefile("rb") as lines:
                    question = lines.readline(LONGEST_QUESTION)
                line.sendall(_encoded(self._reply_outside(question)))

    def _bind(self) -> trio.socket.SocketType:
        """Replace the socket at the path: it belongs to a server that has ended or was taken over."""
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
            # Bound under another name and renamed: at every moment a caller finds the old or the new socket.
            new.replace(self._path)
        self._listening = listener
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
                answer = _encoded(await self._reply(line))
                if line == HAND_OVER and (sockets := self._hand_over()):
                    descriptors = array("i", [listener.fileno() for listener in sockets])
                    await stream.socket.sendmsg([answer], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
                else:
                    await stream.send_all(answer)
            except (trio.BrokenResourceError, OSError):  # the caller has left
                return

    async def _reply(self, line: bytes) -> object:
        try:
            found = _answered(self._answers, line)
            return await found if inspect.isawaitable(found) else found
        except Unanswerable as error:
            return {"error": str(error)}
        except Exception as error:  # an error in an answer must not end the socket and its listener
            return {"error": describe(error)}

    def _reply_outside(self, line: bytes) -> object:
        try:
            return _answered(self._answers_outside, line)
        except Unanswerable as error:
            return {"error": f"{error} (a turn keeps the server busy: `troupe top --sort turn` shows it)"}
        except Exception as error:  # nor the thread
            return {"error": describe(error)}


def _answered(answers: Mapping[str, Answer], line: bytes) -> object:
    """Return the result of the answer function. Raises Unanswerable for an unknown or malformed question."""
    try:
        question: JsonObject = orjson.loads(line)
        answer = answers.get(question.pop("command"))
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        raise Unanswerable("send one JSON object with a command") from None
    if answer is None:
        raise Unanswerable("unknown command")
    try:
        inspect.signature(answer).bind(**question)
    except TypeError as error:
        raise Unanswerable(f"wrong arguments: {error}") from None
    return answer(**question)


def _encoded(answer: object) -> bytes:
    return orjson.dumps(answer, default=str, option=orjson.OPT_SERIALIZE_DATACLASS) + b"\n"


def _is_readable(listening: socket.socket) -> bool:
    poll = select.poll()
    poll.register(listening, select.POLLIN)
    return bool(poll.poll(0))


def _nothing() -> object:
    return {}


def answers(path: Path) -> bool:
    """True if a server has this control socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        try:
            with short_name(path) as name:
                line.connect(name)
        except OSError:
            return False
    return True


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
    for listener in sockets:
        listener.setblocking(False)
        listener.set_inheritable(False)
    return sockets


def ask_to_drain(path: Path, patience: float) -> None:
    """Return when the running server has answered all its requests, or has ended, or after so many seconds."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        try:
            answer = _answer_to(DRAIN, path)
        except OSError:
            return
        if answer != WAITS:
            return  # it is done, or of an earlier version


def ask_to_resume(path: Path) -> None:
    """Ask the running server to serve again. A server of an earlier version serves again after a minute anyway."""
    with suppress(OSError):
        _answer_to(RESUME, path)


def _answer_to(command: str, path: Path) -> bytes:
    """Return the running server's answer to a command; empty if it ends meanwhile. Raises OSError."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(PATIENCE)
        with short_name(path) as name:
            line.connect(name)
        line.sendall(orjson.dumps({"command": command}) + b"\n")
        return line.recv(LONGEST_QUESTION)


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
