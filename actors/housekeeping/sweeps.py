"""Sweeps: work that is done from time to time, and the counts of what a sweep has removed, for the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager

import trio

from ...storage.engine.database import Fenced
from ...storage.engine.faults import machine_fault


@contextmanager
def counted(report: Callable[[str], None]) -> Generator[Counter[str]]:
    """Count the removed things of the block by kind, and report them in words at its end, also if it fails.

    Nothing is reported if nothing was removed.
    """
    counts = Counter[str]()
    try:
        yield counts
    finally:
        if some := [f"{count} {kind}" for kind, count in counts.items() if count]:
            report(f"removed {', '.join(some)}")


async def sweep_until(
    stopping: trio.Event, sweep: Callable[[], Awaitable[object]], every: float, after_fault: float
) -> None:  # fmt: skip
    """Sweep at once and then every so many seconds, until `stopping`: then a sweep under way is cancelled."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_sweep_for_ever, sweep, every, after_fault)
        await stopping.wait()
        nursery.cancel_scope.cancel()


async def _sweep_for_ever(sweep: Callable[[], Awaitable[object]], every: float, after_fault: float) -> None:
    while True:
        pause = every
        try:
            await sweep()
        except Fenced:
            raise
        except Exception as error:
            # A full disk or a lost database is logged elsewhere, and the next sweep makes up for it. An error here
            # would restart the children that were started after this child, the HTTP server too.
            if machine_fault(error) is None:
                raise
            pause = after_fault
        await trio.sleep(pause)
