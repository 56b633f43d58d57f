"""The prompt loop: callbacks in their order and at once, no task starved, and trio-asyncio as the overrides need it."""

import asyncio
import contextvars
import inspect
import socket
from typing import Any, cast

import trio
import trio.testing
import trio_asyncio

from troupe.storage.engine.prompt import MOST_AT_ONCE, PromptLoop, open_loop

from ..waiting import until

aio_as_trio = cast(Any, trio_asyncio).aio_as_trio  # it has no types

OVERRIDDEN = {
    "_queue_handle": ["self", "handle"],
    "_io_task": ["self", "fd", "handle", "wait_ready"],
    "_check_callback": ["self", "callback", "method"],
}


def test_trio_asyncio_is_as_it_was_when_this_was_written() -> None:
    """An override that nothing calls would fail no test: queries would only cost more."""
    for name, parameters in OVERRIDDEN.items():
        assert list(inspect.signature(getattr(trio_asyncio.TrioEventLoop, name)).parameters) == parameters
    for caller in ("call_soon", "call_later", "call_at"):
        assert "_queue_handle" in inspect.getsource(getattr(trio_asyncio.TrioEventLoop, caller))


def typed(loop: PromptLoop) -> asyncio.AbstractEventLoop:
    """Return the loop as asyncio describes it. The methods of trio-asyncio have no types."""
    return loop


async def test_what_a_callback_makes_ready_runs_behind_it() -> None:
    ran: list[str] = []
    async with open_loop() as loop:
        call_soon = typed(loop).call_soon

        def first() -> None:
            call_soon(ran.append, "second")
            call_soon(lambda: call_soon(ran.append, "third"))
            ran.append("first")

        loop.promptly(first)
        assert ran == ["first", "second", "third"]


async def test_a_task_goes_on_where_its_future_is_set() -> None:
    steps: list[int] = []
    async with open_loop() as loop:
        futures: list[asyncio.Future[int]] = [loop.create_future() for _ in range(2)]

        async def work() -> None:
            steps.extend([await future for future in futures[:1]])
            steps.extend([await future for future in futures[1:]])

        async with trio.open_nursery() as nursery:
            nursery.start_soon(aio_as_trio(work))
            await trio.testing.wait_all_tasks_blocked()
            loop.promptly(futures[0].set_result, 1)
            assert steps == [1]
            loop.promptly(futures[1].set_result, 2)
            assert steps == [1, 2]


async def test_what_runs_in_a_task_from_outside_knows_its_loop() -> None:
    """A worker that a caller wakes may have to connect again, and that has timeouts."""
    found: list[object] = []
    async with open_loop() as loop:
        future: asyncio.Future[None] = loop.create_future()

        async def work() -> None:
            await future
            found.append(asyncio.get_running_loop())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(aio_as_trio(work))
            await trio.testing.wait_all_tasks_blocked()
            outside = contextvars.Context()
            task = trio.lowlevel.spawn_system_task(promptly, loop, future, context=outside)
            await trio.testing.wait_all_tasks_blocked()
        assert found == [loop]
        assert task.context.get(trio_asyncio.current_loop) is None


async def promptly(loop: PromptLoop, future: "asyncio.Future[None]") -> None:
    loop.promptly(future.set_result, None)


async def test_callbacks_without_an_end_let_others_have_their_turn() -> None:
    ran = 0
    async with open_loop() as loop:

        def again() -> None:
            nonlocal ran
            ran += 1
            if not enough.is_set():
                typed(loop).call_soon(again)

        enough = trio.Event()
        loop.promptly(again)
        assert ran == MOST_AT_ONCE
        await trio.lowlevel.checkpoint()
        enough.set()
        await loop.synchronize()
        assert ran > MOST_AT_ONCE


async def test_a_callback_that_fails_or_was_cancelled_stops_no_other() -> None:
    ran: list[str] = []
    failed: list[str] = []

    async with open_loop() as loop:
        loop.set_exception_handler(lambda _, context: failed.append(str(context["exception"])))

        def first() -> None:
            typed(loop).call_soon(fail)
            typed(loop).call_soon(ran.append, "cancelled").cancel()
            typed(loop).call_soon(ran.append, "last")

        loop.promptly(first)
    assert failed == ["on purpose"]
    assert ran == ["last"]


def fail() -> None:
    raise ValueError("on purpose")


async def test_readers_hear_everything_until_they_are_removed() -> None:
    here, there = socket.socketpair()
    heard: list[bytes] = []
    with here, there:
        here.setblocking(False)
        async with open_loop() as loop:
            typed(loop).add_reader(here, lambda: heard.append(here.recv(1)))
            for byte in (b"a", b"b"):
                there.send(byte)
                await until(lambda byte=byte: heard[-1:] == [byte])
            loop.remove_reader(here)
            there.send(b"c")
            await trio.testing.wait_all_tasks_blocked()
    assert heard == [b"a", b"b"]
