"""Memory is given back after many actors have gone to sleep, once, and when no more of them do."""

from collections.abc import Callable

import trio
from trio.testing import MockClock

from troupe.supervision.system.memory import INTERVAL, MANY, MemoryReturn


def trims_after(*asleep: int) -> list[int]:
    """Return at which looks memory was given back, with so many asleep at the start and at each look."""
    looks = iter(asleep)
    trimmed: list[int] = []
    seen = 0

    def slept() -> int:
        nonlocal seen
        seen += 1
        return next(looks)

    def trim() -> None:
        trimmed.append(seen - 1)

    async def main() -> None:
        stopping = trio.Event()
        async with trio.open_nursery() as nursery:
            await nursery.start(MemoryReturn(slept, trim).run, stopping)
            await trio.sleep(INTERVAL * (len(asleep) - 1.5))
            stopping.set()

    run: Callable[..., None] = trio.run
    run(main, clock=MockClock(autojump_threshold=0.01))
    return trimmed


def test_many_that_sleep_give_memory_back_once() -> None:
    assert trims_after(0, MANY, MANY, MANY, MANY) == [2]


def test_few_are_not_worth_it_until_they_are_many() -> None:
    assert trims_after(0, MANY - 1, MANY - 1, MANY, MANY, MANY) == [4]


def test_it_waits_until_no_more_go_to_sleep() -> None:
    assert trims_after(0, MANY, 2 * MANY, 3 * MANY, 3 * MANY, 3 * MANY) == [4]
