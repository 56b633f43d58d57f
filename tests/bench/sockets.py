"""Posts to followers who each listen on a WebSocket."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack

from . import machine
from .bench import Bench
from .fill import Cast, token
from .listening import Audience, Listener, audience, unsent
from .load import Caller, Load, Outcome
from .posts import request_to_post
from .samples import Row

# A client has stopped reading for the server when the kernel takes no more for it, for this many posts.
STOPPED = 3
MOST_UNREAD = 200  # posts; the server keeps 256 events for a client before it closes the connection


def sockets(bench: Bench, author: int, count: int) -> Row:
    """Posts to so many sockets, or to as many as this process may open."""
    count = machine.sockets_allowed(count)
    with audience(bench.port, _followers(bench, count)) as listeners:
        row, lost = _posts(bench, f"a post, {count:,} WebSockets", author, listeners)
    row.remarks.extend([_each(row, count), f"{lost} lost"])
    return row


def one_stops_reading(bench: Bench) -> Row:
    """The same, and one more socket whose client has stopped reading. The waits are those of the others."""
    count = machine.sockets_allowed(bench.size.sockets)
    stopping = _followers(bench, count)[-1]
    with ExitStack() as stack:
        listeners = stack.enter_context(audience(bench.port, _followers(bench, count)[:-1]))
        without, _ = _posts(bench, "", Cast.STREAMED, listeners)
        stopped: list[Listener] = []

        def stop() -> None:
            for listener in stopped:
                listener.close()
            stopped[:] = [_stopped(bench, stopping, listeners)]

        name = f"a post, {count:,} WebSockets, one of which stops reading"
        row, lost = _posts(bench, name, Cast.STREAMED, listeners, stop)
        still = unsent(bench.port, stopped[0]) is not None
        stopped[0].close()
    row.remarks.append(f"p99 of the others; without it {without.median.p99:.1f} ms")
    row.remarks.extend([f"{lost} lost", "it stays open" if still else "it was closed"])
    return row


def _followers(bench: Bench, count: int) -> list[str]:
    return [token(bench.size.accounts - number) for number in range(count)]


def _posts(
    bench: Bench, name: str, author: int, listeners: Audience, before: Callable[[], None] = lambda: None
) -> tuple[Row, int]:
    """Measure posts, and count the messages that are lost."""
    caller = Caller(bench.port)

    def work() -> Outcome:
        load, began = Load(), time.perf_counter()
        for _ in range(bench.size.posts):
            _post(caller, author, listeners, load)
        load.seconds = time.perf_counter() - began
        return load.outcome(bench.size.posts)

    try:
        row = bench.row(name, work, settles=True, before=before)
    finally:
        caller.close()
    return row, listeners.lost()


def _post(caller: Caller, author: int, listeners: Audience, load: Load) -> None:
    """Post, and wait until all have heard of it."""
    start = time.perf_counter()
    caller.ask(request_to_post(author))
    load.waits += [at - start for at in listeners.hear()]
    while not caller.take():
        pass
    assert caller.succeeded, caller.buffer.decode()


def _stopped(bench: Bench, token: str, listeners: Audience) -> Listener:
    """Open a socket and post to it until the server can write no more."""
    listener, caller = Listener(bench.port, token, reads=False), Caller(bench.port)
    waiting: list[int | None] = []
    while len(waiting) < STOPPED or len({*waiting[-STOPPED:]}) > 1:
        assert len(waiting) < MOST_UNREAD, "the kernel takes everything for a client that does not read"
        _post(caller, Cast.STREAMED, listeners, Load())
        waiting.append(unsent(bench.port, listener))
    assert waiting[-1], "the kernel holds nothing for the client that does not read"
    caller.close()
    return listener


def _each(row: Row, count: int) -> str:
    return f"{row.median.together / count * 1000:.0f} µs a message (goal 12)"
