"""A value that is computed now and then: by one task at a time, and never older than what made it be forgotten."""

from datetime import UTC, datetime, timedelta

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.memory.computed import Computed

LASTS = timedelta(minutes=5)


class Counter:
    """Computes 1, then 2, and so on. It fails or waits when told to; `now` is moved by hand."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)
        self.computed = 0
        self.go = trio.Event()
        self.go.set()
        self.fails = False

    def now(self) -> datetime:
        return self.time

    async def compute(self) -> int:
        self.computed += 1
        value = self.computed
        await self.go.wait()
        if self.fails:
            raise TimeoutError
        return value


@pytest.fixture
def counter() -> Counter:
    return Counter()


@pytest.fixture
def value(counter: Counter) -> Computed[int]:
    return Computed(counter.compute, counter, LASTS)


async def test_it_is_computed_again_when_its_time_is_over(counter: Counter, value: Computed[int]) -> None:
    assert await value.get() == 1
    counter.time += LASTS - timedelta(seconds=1)
    assert await value.get() == 1
    counter.time += timedelta(seconds=1)
    assert await value.get() == 2


async def test_all_who_ask_first_wait_for_one_computation(
    counter: Counter, value: Computed[int], nursery: trio.Nursery
) -> None:
    got: list[int] = []

    async def ask() -> None:
        got.append(await value.get())

    counter.go = trio.Event()
    for _ in range(3):
        nursery.start_soon(ask)
    await wait_all_tasks_blocked()
    counter.go.set()
    await wait_all_tasks_blocked()
    assert got == [1, 1, 1]


async def test_while_one_task_computes_the_others_get_the_last_value(
    counter: Counter, value: Computed[int], nursery: trio.Nursery
) -> None:
    await value.get()
    counter.time += LASTS
    counter.go = trio.Event()
    nursery.start_soon(value.get)
    await wait_all_tasks_blocked()
    assert await value.get() == 1
    counter.go.set()
    await wait_all_tasks_blocked()
    assert await value.get() == 2


async def test_what_is_computed_while_it_is_forgotten_is_not_kept(
    counter: Counter, value: Computed[int], nursery: trio.Nursery
) -> None:
    counter.go = trio.Event()
    nursery.start_soon(value.get)
    await wait_all_tasks_blocked()
    value.forget()
    counter.go.set()
    await wait_all_tasks_blocked()
    assert await value.get() == 2
    value.forget()
    assert await value.get() == 3


async def test_a_failure_is_told_and_the_next_one_tries_again(counter: Counter, value: Computed[int]) -> None:
    counter.fails = True
    with pytest.raises(TimeoutError):
        await value.get()
    counter.fails = False
    assert await value.get() == 2
