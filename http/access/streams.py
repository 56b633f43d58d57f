"""The open streaming connections, and the task that sends new events to them, one connection after the other.

Revocations and the stop of the server close the connections. A task switch costs more than a system call, so streams
have no tasks of their own.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from enum import Enum
from heapq import nlargest
from itertools import islice
from time import perf_counter
from typing import Protocol

import trio

from ...storage.oauth import Token


class StreamEnd(Enum):
    """The reason why a session ends: the WebSocket's close code and text. `orderly` ends first send the queue."""

    STOPPING = 1012, "The server restarts"
    LOST = 1013, "This stream failed, connect again"
    SLOW = 1008, "The connection is too slow"
    REVOKED = 1008, "The access token was revoked"
    DISABLED = 1008, "Your login is currently disabled"
    BARRED = 1008, "This action is not allowed"
    BINARY = 1003, "Only text is understood"

    @property
    def code(self) -> int:
        return self.value[0]

    @property
    def reason(self) -> str:
        return self.value[1]

    @property
    def orderly(self) -> bool:
        return self in (StreamEnd.STOPPING, StreamEnd.LOST)


@dataclass(slots=True)
class StreamCounts:
    """Counts of WebSockets or of server-sent events, since the process started."""

    opened: int = 0
    events: int = 0  # an event that is sent to two clients counts twice
    ends: Counter[str] = field(default_factory=Counter[str])  # by the name of a `StreamEnd`, or `CLIENT_LEFT`

    @property
    def open(self) -> int:
        return self.opened - self.ends.total()


SNAPSHOT_SLICE = 200  # streams looked at between two checkpoints
# The name for the end of a stream that the client has closed.
CLIENT_LEFT = "client_left"


@dataclass(frozen=True, slots=True)
class StreamSnapshot:
    """An open stream, as operators see it. Times are seconds."""

    account_id: int | None  # None for a visitor who is not signed in
    streams: tuple[str, ...]  # `user`, `hashtag tea`
    request_id: str
    open: float
    behind: int  # unread events of the subscription that is furthest behind
    blocked: float  # since its client last took bytes, while bytes wait


class OpenStream(Protocol):
    """An open streaming connection."""

    @property
    def token(self) -> Token | None: ...

    @property
    def address(self) -> str: ...

    def end(self, why: StreamEnd) -> None: ...

    def resume(self) -> None: ...

    def snapshot(self, now: float) -> StreamSnapshot: ...


class Streams:
    """Every open stream of the server."""

    def __init__(self) -> None:
        self._sessions: set[OpenStream] = set()
        self._stopping = False
        self.websockets = StreamCounts()
        self.server_sent = StreamCounts()

    def __len__(self) -> int:
        return len(self._sessions)

    def add(self, session: OpenStream) -> None:
        """Add a session until `remove`. While the server stops, it ends at once."""
        self._sessions.add(session)
        if self._stopping:
            session.end(StreamEnd.STOPPING)

    def remove(self, session: OpenStream) -> None:
        self._sessions.discard(session)

    def snapshots(self, now: float, most: int) -> Generator[None, None, list[StreamSnapshot]]:
        """Return the `most` streams that are furthest behind. Yields after each slice."""
        first: list[StreamSnapshot] = []
        rest = iter(list(self._sessions))
        while some := list(islice(rest, SNAPSHOT_SLICE)):
            first = nlargest(most, [*first, *(session.snapshot(now) for session in some)], key=_lag_of)
            yield
        return first

    def close_token(self, token_hash: bytes) -> None:
        """Close the streams of a token that was revoked."""
        self._end(
            StreamEnd.REVOKED, lambda session: session.token is not None and session.token.token_hash == token_hash
        )

    def close_account(self, account_id: int) -> None:
        """Close the streams of a user who may not sign in any more."""
        self._end(
            StreamEnd.DISABLED, lambda session: session.token is not None and session.token.account_id == account_id
        )

    def close_addresses(self, barred: Callable[[str], bool]) -> None:
        """Close the streams of clients that may not use the server any more."""
        self._end(StreamEnd.BARRED, lambda session: barred(session.address))

    def token_hashes(self) -> set[bytes]:
        """Return the hashes of the tokens of all streams."""
        return {session.token.token_hash for session in self._sessions if session.token is not None}

    def resume_all(self) -> None:
        """Send the events that have waited while this node of a cluster was incomplete."""
        for session in list(self._sessions):
            session.resume()

    def open_all(self) -> None:
        """Accept streams, for the first time or again."""
        self._stopping = False

    def close_all(self) -> None:
        """End every stream, because the server stops."""
        self._stopping = True
        self._end(StreamEnd.STOPPING, lambda session: True)

    def _end(self, why: StreamEnd, concerns: Callable[[OpenStream], bool]) -> None:
        for session in [session for session in self._sessions if concerns(session)]:
            session.end(why)


def _lag_of(stream: StreamSnapshot) -> tuple[float, ...]:
    return stream.behind, stream.blocked, stream.open


SENDING_SLICE = 0.001  # seconds of sending between two checkpoints


class Sending(Protocol):
    """A stream that has new events."""

    def send_now(self) -> None:
        """Send as much as the client takes without waiting. It raises no error."""
        ...


class Pump:
    """The queue of streams that have new events."""

    def __init__(self) -> None:
        self._waiting: deque[Sending] = deque()
        self._sleeper: trio.lowlevel.Task | None = None
        self._runs = False

    def add(self, stream: Sending) -> None:
        """Let a stream send soon; at once if `run` is not running."""
        self._waiting.append(stream)
        if self._sleeper is not None:
            trio.lowlevel.reschedule(self._sleeper)
            self._sleeper = None
        elif not self._runs:
            self._send_all()

    async def run(self) -> None:
        """Send for ever."""
        self._runs = True
        try:
            while True:
                if self._waiting:
                    self._send_slice()
                    await trio.lowlevel.checkpoint()
                else:
                    self._sleeper = trio.lowlevel.current_task()
                    await trio.lowlevel.wait_task_rescheduled(self._stop_sleeping)
        finally:
            self._send_all()  # streams that were added before send everything

    def _send_all(self) -> None:
        self._runs = True  # so that `add` queues streams that have more to send, without recursion
        try:
            while self._waiting:
                self._waiting.popleft().send_now()
        finally:
            self._runs = False

    def _send_slice(self) -> None:
        waiting, end = self._waiting, perf_counter() + SENDING_SLICE
        while waiting:
            waiting.popleft().send_now()
            if perf_counter() > end:
                return

    def _stop_sleeping(self, _: object) -> trio.lowlevel.Abort:
        self._sleeper = None
        return trio.lowlevel.Abort.SUCCEEDED
