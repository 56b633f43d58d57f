"""Waiting for changes that tests can only look for: in rows, in answers, in files."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import trio

PATIENCE = 20  # seconds, for what comes soon
# Seconds between two looks. A look costs a query or a request: without a pause the test takes the CPU that the server
# needs to get ready.
PAUSE = 0.005

T = TypeVar("T")


async def until_found(look: Callable[[], Awaitable[T]]) -> T:
    """Look until something is found, and return it."""
    with trio.fail_after(PATIENCE):
        while not (result := await look()):  # noqa: ASYNC110 - no event tells of what other processes do
            await trio.sleep(PAUSE)
    return result


async def until(holds: Callable[[], bool], patience: float = PATIENCE) -> None:
    """Look until something holds."""
    with trio.fail_after(patience):
        while not holds():  # noqa: ASYNC110 - as above
            await trio.sleep(PAUSE)


async def until_none(look: Callable[[], Awaitable[object]]) -> None:
    """Look until nothing is found any more."""
    with trio.fail_after(PATIENCE):
        while await look():  # noqa: ASYNC110 - as above
            await trio.sleep(PAUSE)


class Turns:
    """Counts the turns of another task."""

    def __init__(self) -> None:
        self.number = 0

    async def count(self) -> None:
        while True:
            self.number += 1
            await trio.lowlevel.checkpoint()


@asynccontextmanager
async def turns_of_others() -> AsyncGenerator[Turns]:
    """Count how often another task has its turn: never, while something keeps the event loop."""
    turns = Turns()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(turns.count)
        await trio.lowlevel.checkpoint()
        turns.number = 0
        yield turns
        nursery.cancel_scope.cancel()
