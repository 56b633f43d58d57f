"""Work that several callers want at the same time: once for all of them, whoever is cancelled, and in any order."""

from functools import partial

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.federation.errors import DocumentUnavailable
from troupe.actors.federation.flights import Flights
from troupe.actors.memory.single_flight import SingleFlight
from troupe.supervision.testing import Run, bare, simulation


class Work:
    """Returns 1, then 2, and so on, when it may go on. It fails when told to."""

    def __init__(self) -> None:
        self.begun = 0
        self.cancelled = 0
        self.at_once = 0
        self.go = trio.Event()
        self.failure: Exception | None = None

    async def __call__(self) -> int:
        self.begun += 1
        self.at_once += 1
        number = self.begun
        try:
            await self.go.wait()
        except trio.Cancelled:
            self.cancelled += 1
            raise
        finally:
            self.at_once -= 1
        if self.failure is not None:
            raise self.failure
        return number


async def take(flights: SingleFlight[str, int], work: Work, results: list[int | str], scope: trio.CancelScope) -> None:
    with scope:
        try:
            results.append(await flights.join("key", work))
        except ValueError as error:
            results.append(str(error))


@pytest.fixture
def flights() -> SingleFlight[str, int]:
    return SingleFlight()


async def test_callers_at_the_same_time_share_the_work_and_later_ones_do_not(
    flights: SingleFlight[str, int], nursery: trio.Nursery
) -> None:
    work, results = Work(), list[int | str]()
    for _ in range(3):
        nursery.start_soon(take, flights, work, results, trio.CancelScope())
    await wait_all_tasks_blocked()
    assert len(flights) == 1
    work.go.set()
    await wait_all_tasks_blocked()
    assert results == [1, 1, 1]
    assert len(flights) == 0
    assert await flights.join("key", work) == 2


async def test_other_keys_have_other_work(flights: SingleFlight[str, int], nursery: trio.Nursery) -> None:
    held, free = Work(), Work()
    free.go.set()
    nursery.start_soon(flights.join, "key", held)
    await wait_all_tasks_blocked()
    assert await flights.join("other", free) == 1
    held.go.set()


async def test_a_caller_that_waits_and_is_cancelled_takes_nothing_from_the_others(
    flights: SingleFlight[str, int], nursery: trio.Nursery
) -> None:
    work, results = Work(), list[int | str]()
    scopes = [trio.CancelScope() for _ in range(3)]
    for scope in scopes:
        nursery.start_soon(take, flights, work, results, scope)
        await wait_all_tasks_blocked()
    scopes[1].cancel()
    await wait_all_tasks_blocked()
    work.go.set()
    await wait_all_tasks_blocked()
    assert (results, work.begun, work.cancelled) == ([1, 1], 1, 0)


async def test_one_of_the_others_begins_anew_when_the_caller_that_works_is_cancelled(
    flights: SingleFlight[str, int], nursery: trio.Nursery
) -> None:
    work, results = Work(), list[int | str]()
    scopes = [trio.CancelScope() for _ in range(3)]
    for scope in scopes:
        nursery.start_soon(take, flights, work, results, scope)
        await wait_all_tasks_blocked()
    scopes[0].cancel()
    await wait_all_tasks_blocked()
    assert (work.begun, work.cancelled, work.at_once) == (2, 1, 1)
    work.go.set()
    await wait_all_tasks_blocked()
    assert results == [2, 2]


async def test_an_error_is_raised_by_all_who_wait_and_is_not_kept(
    flights: SingleFlight[str, int], nursery: trio.Nursery
) -> None:
    work, results = Work(), list[int | str]()
    work.failure = ValueError("broken")
    for _ in range(3):
        nursery.start_soon(take, flights, work, results, trio.CancelScope())
    await wait_all_tasks_blocked()
    work.go.set()
    await wait_all_tasks_blocked()
    assert (results, work.begun) == (["broken"] * 3, 1)
    work.failure = None
    assert await flights.join("key", work) == 2


async def test_after_an_error_that_concerns_the_beginner_alone_another_caller_begins_anew(
    nursery: trio.Nursery,
) -> None:
    flights: SingleFlight[str, int] = SingleFlight(lambda error: str(error) == "your own")
    poor, rich, results = Work(), Work(), list[int | str]()
    poor.failure = ValueError("your own")
    for work in (poor, rich):
        nursery.start_soon(take, flights, work, results, trio.CancelScope())
        await wait_all_tasks_blocked()
    rich.go.set()
    assert rich.begun == 0
    poor.go.set()
    await wait_all_tasks_blocked()
    assert results == ["your own", 1]


async def test_who_wants_a_later_state_waits_for_the_work_under_way_and_then_begins_anew(
    flights: SingleFlight[str, int], nursery: trio.Nursery
) -> None:
    work, results = Work(), list[int]()

    async def take_next() -> None:
        results.append(await flights.join_next("key", work))

    nursery.start_soon(flights.join, "key", work)
    await wait_all_tasks_blocked()
    nursery.start_soon(take_next)
    nursery.start_soon(take_next)
    await wait_all_tasks_blocked()
    assert work.begun == 1
    work.go.set()
    await wait_all_tasks_blocked()
    assert results == [2, 2]


async def test_callers_after_a_change_do_not_share_the_work_before_it(
    flights: SingleFlight[str, int], nursery: trio.Nursery
) -> None:
    old, new, results = Work(), Work(), list[int | str]()
    nursery.start_soon(take, flights, old, results, trio.CancelScope())
    await wait_all_tasks_blocked()
    flights.forget("key")
    nursery.start_soon(take, flights, new, results, trio.CancelScope())
    await wait_all_tasks_blocked()
    assert (old.begun, new.begun) == (1, 1)
    old.go.set()
    await wait_all_tasks_blocked()
    nursery.start_soon(take, flights, new, results, trio.CancelScope())
    await wait_all_tasks_blocked()
    assert new.begun == 1, "the end of the old work does not end the new one"
    new.go.set()


async def test_work_in_the_background_goes_on_when_all_callers_have_left() -> None:
    flights: Flights[int] = Flights()
    work, stopping = Work(), trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(flights.run, stopping)
        with trio.CancelScope() as scope:
            scope.cancel()
            await flights.join("key", work)
        await wait_all_tasks_blocked()
        assert (len(flights), work.cancelled) == (1, 0)
        work.go.set()
        await wait_all_tasks_blocked()
        assert (len(flights), work.begun) == (0, 1)
        stopping.set()


async def test_work_in_the_background_has_an_end_and_a_bound() -> None:
    flights: Flights[int] = Flights(most=1, seconds=5)
    stopping = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(flights.run, stopping)
        with pytest.raises(DocumentUnavailable, match="in time"):
            await flights.join("key", Work())
        assert trio.current_time() == 5
        with trio.move_on_after(1):
            await flights.join("key", Work())
        with pytest.raises(DocumentUnavailable, match="too many"):
            await flights.join("other", Work())
        stopping.set()


async def test_callers_end_with_what_runs_their_work() -> None:
    flights: Flights[int] = Flights()
    stopping, work, refused = trio.Event(), Work(), list[str]()

    async def caller() -> None:
        try:
            await flights.join("key", work)
        except DocumentUnavailable as error:
            refused.append(str(error))

    async with trio.open_nursery() as callers, trio.open_nursery() as nursery:
        await nursery.start(flights.run, stopping)
        for _ in range(3):
            callers.start_soon(caller)
        await wait_all_tasks_blocked()
        stopping.set()
    assert (len(refused), work.begun, len(flights)) == (3, 1, 0)


@simulation(seeds=50, world=bare)
async def test_in_any_order_each_caller_gets_work_that_ran_alone(sim: Run) -> None:
    """Callers come and are cancelled, and some work fails."""
    flights: SingleFlight[str, int] = SingleFlight()
    begun, running, ended = 0, 0, 0

    async def work() -> int:
        nonlocal begun, running
        begun += 1
        running += 1
        number = begun
        try:
            await trio.sleep(1)
            await trio.lowlevel.checkpoint()
        finally:
            running -= 1
        if number % 4 == 2:
            raise ValueError("it fails")
        return number

    async def caller(patience: float) -> None:
        nonlocal ended
        begun_before = begun
        with trio.move_on_after(patience) as waiting:
            try:
                result = await flights.join("key", work)
                assert begun_before <= result <= begun
                sim.sometimes(result == begun_before, "a caller shares work that had begun")
                sim.sometimes(result > begun_before + 1, "a caller begins anew after another caller was cancelled")
            except ValueError:
                sim.sometimes(True, "a caller gets the error")
        sim.sometimes(waiting.cancelled_caught, "a caller is cancelled")
        ended += 1

    sim.always(lambda: running <= 1)
    async with sim.together() as go:
        for number in range(6):
            go(partial(caller, sim.random.choice([0.5, 1.5, 4.0])), name=f"caller{number}")
            await trio.sleep(sim.random.choice([0, 0.3]))
    assert (ended, running, len(flights)) == (6, 0, 0)
