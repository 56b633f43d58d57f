"""Retrying, as clients do after a 503."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

import trio

from ....actors.kernel import NotAnswered, Quarantined, Stopping
from ....storage.engine.database import StorageError
from ..run import Run

T = TypeVar("T")


class Restarting(Protocol):
    """A server that may stop and start again."""

    run: Run
    running: trio.Event  # set while it runs


async def insist(server: Restarting, who: str, attempt: Callable[[], Awaitable[T]]) -> T:
    """Try until there is an answer or a refusal. After Stopping, wait until the server runs again."""
    while True:
        try:
            return await attempt()
        except Stopping:
            await server.running.wait()
        except (NotAnswered, StorageError) as error:
            server.run.note(f"gets {type(error).__name__}, tries again", who)
            await _pause(server, error)


async def _pause(server: Restarting, error: Exception) -> None:
    """Wait as long as Retry-After says, or in half of the cases not at all."""
    if isinstance(error, Quarantined) or server.run.random.random() < 0.5:
        await trio.sleep(getattr(error, "retry_after", 1))
    else:
        await trio.lowlevel.checkpoint()
