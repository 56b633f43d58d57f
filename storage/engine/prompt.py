"""trio-asyncio's loop with immediate callbacks: callbacks that become ready run in the same turn of Trio's scheduler.

In trio-asyncio, each callback passes a channel to the loop's own task, and a reader waits for that task after each
read: four turns of the scheduler for an answer of PostgreSQL. This loop takes a single turn.
"""

# Not strict: asyncpg and trio-asyncio, around which this module is an adapter, have no complete types.
# pyright: standard

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, cast

import trio_asyncio
from sniffio import thread_local as library_in_use
from trio_asyncio import TrioEventLoop

# Callbacks in one run. Further ready callbacks go through trio-asyncio's channel, so that other tasks run.
MOST_AT_ONCE = 100

# The place where asyncio looks for the running loop. Its declared type is of a loop that never runs.
RUNNING = cast("ContextVar[TrioEventLoop | None]", trio_asyncio.current_loop)


class PromptLoop(TrioEventLoop):
    """Overrides private methods of trio-asyncio, whose version is pinned; a test holds their names."""

    # Callbacks that became ready during a run; the run takes them too. None outside of a run.
    _following: deque[asyncio.Handle] | None = None

    def promptly(self, callback: Callable[..., object], *args: object) -> None:
        """Call a function and run the callbacks that it makes ready.

        Called from Trio's side, never by a callback of this loop.
        """
        # Code in the caller's task looks for the running loop in that task's context.
        token = RUNNING.set(self)
        try:
            self._run_with_followers(asyncio.Handle(callback, args, self))
        finally:
            RUNNING.reset(token)

    def _run_with_followers(self, handle: asyncio.Handle) -> None:
        following = self._following = deque((handle,))
        before, library_in_use.name = library_in_use.name, "asyncio"
        try:
            for _ in range(MOST_AT_ONCE):
                if not following:
                    break
                _run(following.popleft())
        finally:
            library_in_use.name = before
            self._following = None
            for late in following:
                self._queue_handle(late)

    def _queue_handle(self, handle: Any) -> Any:
        if self._following is None or type(handle) is not asyncio.Handle:
            return super()._queue_handle(handle)
        self._following.append(handle)
        return handle

    async def _io_task(self, fd: int, handle: Any, wait_ready: Callable[[int], Awaitable[None]]) -> None:
        with handle._scope:
            try:
                while not handle._cancelled:
                    await wait_ready(fd)
                    self._run_with_followers(handle)
            except Exception as error:
                if not handle._cancelled:  # otherwise its socket was closed meanwhile
                    handle._raise(error)

    def _check_callback(self, callback: object, method: object) -> None:
        """Skip asyncio's test of each callback for being a coroutine function: it takes a tenth of a query's time."""


def _run(handle: asyncio.Handle) -> None:
    if not handle.cancelled():
        handle._run()  # type: ignore[reportAttributeAccessIssue] - asyncio's own way to run it


@asynccontextmanager
async def open_loop() -> AsyncGenerator[PromptLoop]:
    """Open an asyncio loop inside Trio, as `trio_asyncio.open_loop` does."""
    async with trio_asyncio.open_loop() as loop:
        loop.__class__ = PromptLoop  # trio-asyncio has no parameter for the class to make
        yield cast(PromptLoop, loop)
