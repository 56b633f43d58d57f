"""trio-asyncio's loop, made prompt: what a callback makes ready runs right behind it, in one turn of Trio's scheduler.

As trio-asyncio has it, each callback travels through a channel to the loop's own task, and a reader waits after each
reading until that task has come by: four turns of the scheduler for one answer of PostgreSQL. Here it is one.
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

# Callbacks in one go. What is ready beyond that takes the long way, so that others have their turn.
MOST_AT_ONCE = 100

# Where asyncio finds the running loop; it is declared as one that never runs.
RUNNING = cast("ContextVar[TrioEventLoop | None]", trio_asyncio.current_loop)


class PromptLoop(TrioEventLoop):
    """Overrides private methods of trio-asyncio, whose version is pinned; a test holds their names."""

    # What callbacks have made ready and whoever runs them now will run too; None when nobody runs any.
    _following: deque[asyncio.Handle] | None = None

    def promptly(self, callback: Callable[..., object], *args: object) -> None:
        """Call, and run what that makes ready. Called from Trio's side, never by a callback of this loop."""
        # What runs in the caller's task asks that task's context for the running loop.
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
                if not handle._cancelled:  # else its socket was closed under it
                    handle._raise(error)

    def _check_callback(self, callback: object, method: object) -> None:
        """asyncio's looks into each callback for whether it is a coroutine function: a tenth of what a query costs."""


def _run(handle: asyncio.Handle) -> None:
    if not handle.cancelled():
        handle._run()  # type: ignore[reportAttributeAccessIssue] - asyncio's own way to run it


@asynccontextmanager
async def open_loop() -> AsyncGenerator[PromptLoop]:
    """An asyncio loop inside Trio, as `trio_asyncio.open_loop` opens it."""
    async with trio_asyncio.open_loop() as loop:
        loop.__class__ = PromptLoop  # it has no way to be told which class to make
        yield cast(PromptLoop, loop)
