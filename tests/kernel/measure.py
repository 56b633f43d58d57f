"""What the runtime costs, beside the figures of its prototype. Run by hand: `python tests/kernel/measure.py`.

CPU time of this process, the best of several rounds, so that a busy machine disturbs it little.
"""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import trio
import trio.testing

from troupe.actors.kernel import Actor, Address, Cell, Message, Runtime, turn

ROUNDS = 7
CROWD = 100_000


@dataclass(frozen=True, slots=True)
class Note(Message[None]):
    """A hint."""


@dataclass(frozen=True, slots=True)
class Question(Message[int]):
    """A query answered from memory."""


@dataclass(frozen=True, slots=True)
class Order(Message[int]):
    """A command whose turn waits."""


class Counter(Actor):
    """Does next to nothing, as a timeline's turn does when it only adds an entry."""

    __slots__ = ("count",)

    def __init__(self, cell: Cell, runtime: Runtime) -> None:
        super().__init__(cell, runtime)
        self.count = 0


@turn(Counter, Note)
def take_note(actor: Counter, message: Note) -> None:
    actor.count += 1


@turn(Counter, Question)
def answer(actor: Counter, message: Question) -> int:
    return actor.count


@turn(Counter, Order)
async def obey(actor: Counter, message: Order) -> int:
    return actor.count


class Stalls(trio.abc.Instrument):
    """The longest time for which one task kept all others waiting."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._began = time.perf_counter()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._began = time.perf_counter()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        self.longest = max(self.longest, time.perf_counter() - self._began)


async def best(times: int, work: Callable[[], Awaitable[None]]) -> float:
    """Microseconds of CPU for one of `times` things that `work` does."""
    costs: list[float] = []
    for _ in range(ROUNDS):
        began = time.process_time()
        await work()
        costs.append(time.process_time() - began)
    return min(costs) / times * 1e6


class Bench:
    """A runtime with one kind of actor."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.pool = runtime.pools["counter"]

    async def awake(self, count: int) -> list[Cell]:
        """So many actors, loaded and at rest."""
        for number in range(count):
            self.runtime.tell(Address("counter", str(number)), Note())
            if number % 500 == 499:  # a load has a task: few at a time, or their memory would be weighed too
                await trio.testing.wait_all_tasks_blocked()
        await trio.testing.wait_all_tasks_blocked()
        return [self.pool.cells[str(number)] for number in range(count)]

    async def weight(self) -> float:
        """Bytes an idle actor, key and address included."""
        gc.collect()
        before = resident()
        await self.awake(CROWD)
        gc.collect()
        return (resident() - before) / CROWD

    async def tell(self) -> float:
        address = Address("counter", "0")

        async def work() -> None:
            for _ in range(200):
                for _ in range(200):
                    self.runtime.tell(address, Note())
                await trio.lowlevel.checkpoint()
                await trio.testing.wait_all_tasks_blocked()

        return await best(200 * 200, work)

    async def ask(self, message: Message[object]) -> float:
        address = Address("counter", "0")

        async def work() -> None:
            for _ in range(5_000):
                await self.runtime.ask(address, message)

        return await best(5_000, work)

    async def ask_queued(self) -> float:
        """An ask that finds mail before it, so that the drainer answers."""
        address = Address("counter", "0")

        async def work() -> None:
            for _ in range(5_000):
                self.runtime.tell(address, Note())
                await self.runtime.ask(address, Question())

        return await best(5_000, work)

    async def fan_out(self, count: int) -> tuple[float, float]:
        """Microseconds a delivery, turn included, and the longest stall in milliseconds."""
        cells = await self.awake(count)

        async def work() -> None:
            self.runtime.tell_cells("counter", cells, Note())
            await trio.testing.wait_all_tasks_blocked()

        cost = await best(count, work)
        stalls = Stalls()
        trio.lowlevel.add_instrument(stalls)
        await work()
        trio.lowlevel.remove_instrument(stalls)
        return cost, stalls.longest * 1e3


def resident() -> int:
    """Bytes of memory this process holds."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


async def with_bench(measure: Callable[[Bench], Awaitable[None]]) -> None:
    """A fresh runtime, running, for one measurement."""
    runtime = Runtime(record=lambda event, **facts: None, chance=lambda: 0.0)
    runtime.add("counter", Counter, lambda cell: Counter(cell, runtime), most_awake=2 * CROWD)
    stopping = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(runtime.pools["counter"].run, stopping)
        await measure(Bench(runtime))
        stopping.set()


def show(what: str, figure: str, before: str) -> None:
    print(f"| {what} | {figure} | {before} |")  # noqa: T201  # a table on the terminal is all this is for


async def measure_weight(bench: Bench) -> None:
    show("idle actor, bytes", f"{await bench.weight():.0f}", "192 (a cell alone)")


async def measure_calls(bench: Bench) -> None:
    await bench.awake(1)
    show("tell, µs, turn included", f"{await bench.tell():.2f}", "")
    show("ask answered inline, µs", f"{await bench.ask(Question()):.2f}", "0.23")
    show("ask behind other mail, µs", f"{await bench.ask_queued():.1f}", "6.1 (a task each)")
    show("ask whose turn waits, µs", f"{await bench.ask(Order()):.1f}", "")


async def measure_fan_out(bench: Bench) -> None:
    for count, before in ((1_000, "0.15 (0.1)"), (10_000, "0.22 (1.0)")):
        cost, stall = await bench.fan_out(count)
        show(f"fan-out to {count:,} awake, µs a delivery (longest stall, ms)", f"{cost:.2f} ({stall:.1f})", before)


def main() -> None:
    show("what", "now", "prototype")
    show("---", "---", "---")
    for measure in (measure_weight, measure_calls, measure_fan_out):
        trio.run(with_bench, measure)


if __name__ == "__main__":
    main()
