"""Plain requests that are answered without hypercorn: what the connections of a server share for it."""

from __future__ import annotations

import select
from collections.abc import Awaitable, Callable
from itertools import takewhile
from typing import Protocol

import trio

from . import deadlines
from .plain import PlainRequest, Recogniser

# Answers a plain request of the client with this address, as HTTP/1.1 sends it. None if hypercorn has to do it.
FastAnswer = Callable[[PlainRequest, str], Awaitable[bytes] | None]


class WaitingConnection(Protocol):
    """A connection whose client waits for an answer."""

    def fileno(self) -> int: ...

    def leave(self) -> None:
        """End the connection, because the client has closed it."""
        ...

    def end_rest(self) -> None:
        """End the connection, because the client has asked for nothing more for too long."""
        ...


class FastRequests:
    """Finds the plain requests in what clients send, and who answers them."""

    def __init__(self, answer: FastAnswer) -> None:
        self._recogniser = Recogniser()
        self._answer = answer
        self.waiting: set[WaitingConnection] = set()
        # Until when connections without a request stay open that had a plain one. The first to be closed comes first.
        self.resting: dict[WaitingConnection, float] = {}

    def first(self, data: bytes, client: str) -> tuple[Awaitable[bytes], int] | None:
        """Return the answer to the request at the start of the data, and its length; None if it is hypercorn's."""
        found = self._recogniser.first(data)
        if found is None:
            return None
        request, length = found
        answer = self._answer(request, client)
        return None if answer is None else (answer, length)

    async def watch(self) -> None:
        """End the connections of clients that have left instead of waiting for their answers, or that rest too long.

        A connection does not read while it answers, and most answers take less time than to start a task that would.
        A client that only sends no more looks the same: so those are ended that had left at the last look too.
        """
        before: set[WaitingConnection] = set()
        while True:
            await trio.sleep(deadlines.LEFT)
            left = set(self._left())
            for connection in left & before:
                connection.leave()
            before = left
            for connection in self._rested():
                del self.resting[connection]
                connection.end_rest()

    def _rested(self) -> list[WaitingConnection]:
        now = trio.current_time()
        return [connection for connection, _ in takewhile(lambda one: one[1] <= now, self.resting.items())]

    def _left(self) -> list[WaitingConnection]:
        waiting = {connection.fileno(): connection for connection in self.waiting}
        poll = select.poll()
        for descriptor in waiting:
            poll.register(descriptor, select.POLLRDHUP)  # errors are reported in any case
        return [waiting[descriptor] for descriptor, _ in poll.poll(0)] if waiting else []
