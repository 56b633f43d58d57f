"""Trying again, as everybody does who is told 503."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import trio

from ...actors.kernel import NotAnswered, Quarantined, Stopping
from ...storage.engine.database import StorageError

if TYPE_CHECKING:
    from .stage import Simulation

T = TypeVar("T")


async def insist(sim: Simulation, who: str, attempt: Callable[[], Awaitable[T]]) -> T:
    """Try until there is an answer, and be it a refusal; from a server that stops, when it is there again."""
    while True:
        try:
            return await attempt()
        except Stopping:
            await sim.running.wait()
        except (NotAnswered, StorageError) as error:
            sim.run.note(f"was told {type(error).__name__}, tries again", who)
            await _pause(sim, error)


async def _pause(sim: Simulation, error: Exception) -> None:
    """Some do as Retry-After says, some press the button again at once."""
    if isinstance(error, Quarantined) or sim.run.random.random() < 0.5:
        await trio.sleep(getattr(error, "retry_after", 1))
    else:
        await trio.lowlevel.checkpoint()
