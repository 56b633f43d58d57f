"""The stall watch: a function that keeps the event loop is named. What is no function's fault is not."""

import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from troupe.actors.kernel.watchdog import LOOK_EVERY
from troupe.supervision.doctor.loop import evaluate
from troupe.supervision.system import stalls
from troupe.supervision.system.pauses import CollectorPauses
from troupe.supervision.system.stalls import GOES_ON, LOOK_QUICKLY, MOST_FUNCTIONS, RUN_LOOP, StallWatch

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
LIMIT = 0.2


class Watched:
    """A loop that is watched. Its clock is moved by hand, and a look is taken by a thread that is waited for."""

    def __init__(self, clock: MockClock, threshold: float = LIMIT, turn: dict[str, object] | None = None) -> None:
        self.clock = clock
        self.now = NOON
        self.records: list[dict[str, Any]] = []
        self.pauses = CollectorPauses()
        time: Any = SimpleNamespace(now=lambda: self.now)
        self.watch = StallWatch(threshold, self._record, time, self.pauses, lambda: turn or {})
        self.watch.begin()

    def _record(self, event: str, /, **facts: object) -> None:
        assert event == "loop.stalled"
        self.records.append(facts)

    def after(self, seconds: float) -> threading.Thread:
        """Return a thread that looks at this one, as many seconds later."""
        self.clock.jump(seconds)
        return threading.Thread(target=self.watch.look, args=(threading.get_ident(),))

    async def end(self, waited: float = 0) -> None:
        """Let the loop turn, and look at it when it has waited for I/O for as many seconds."""

        def look() -> None:
            run_loop = self.watch._run_loop  # pyright: ignore[reportPrivateUsage]  # its frame tells that it waits
            while run_loop is not None and run_loop.f_back is not None:  # on a busy machine this thread may be faster
                time.sleep(0)
            self.clock.jump(waited)
            self.watch.look(loop)

        loop = threading.get_ident()
        await trio.to_thread.run_sync(look)

    def pause(self) -> float:
        """Return the seconds until the next look."""
        return self.watch._pause  # pyright: ignore[reportPrivateUsage]  # what a real thread waits for


def parses_slowly(watched: Watched, *looks: float) -> None:
    for seconds in looks:
        look = watched.after(seconds)
        _ = look.start(), look.join()


def hurries(watched: Watched, *looks: float) -> None:
    for seconds in looks:
        look = watched.after(seconds)
        _ = look.start(), look.join()


async def test_the_function_that_kept_the_loop_for_longest_is_named_with_its_stack(mock_clock: MockClock) -> None:
    watched = Watched(mock_clock)
    first = parses_slowly.__code__.co_firstlineno
    hurries(watched, 0.06)
    parses_slowly(watched, 0.1, 0.1, 0.1)
    await watched.end()
    (record,) = watched.records
    assert record["function"] == f"parses_slowly ({__file__}:{first})"
    assert record["seconds"] == pytest.approx(0.36)
    assert f'File "{__file__}", line {first + 3}, in parses_slowly' in record["stack"]
    assert "run_sync" not in record["stack"]
    assert (watched.watch.counts, watched.watch.longest) == ({"function": 1}, pytest.approx(0.36))


async def test_a_loop_that_waits_or_turns_round_is_not_kept(mock_clock: MockClock) -> None:
    watched = Watched(mock_clock)
    for _ in range(3):
        await watched.end(waited=5)
        for _ in range(10):
            hurries(watched, 0.15)
            await trio.lowlevel.checkpoint()
        await watched.end()
    assert (watched.records, watched.watch.counts, watched.pause()) == ([], {}, 0.125)


async def test_the_frames_of_functions_are_not_read_while_nothing_is_slow(
    mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched, read = Watched(mock_clock), list[int]()

    def innermost_frame(thread: int) -> None:
        read.append(thread)

    monkeypatch.setattr(stalls, "innermost_frame", innermost_frame)
    hurries(watched, 0.02, 0.02)
    await watched.end(waited=5)
    assert read == []
    hurries(watched, 0.06)
    assert read == [threading.get_ident()]


async def test_a_round_that_has_just_begun_is_not_taken_for_the_one_before(
    mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched, time = Watched(mock_clock), mock_clock.current_time
    waits = [5.0, 5.0]

    def current_time() -> float:
        """Look while the run loop asks for the time at which its new round begins."""
        if waits and sys._getframe(1).f_code.co_name == RUN_LOOP[1]:  # pyright: ignore[reportPrivateUsage]
            hurries(watched, waits.pop())
        return time()

    monkeypatch.setattr(mock_clock, "current_time", current_time)
    while waits:
        await trio.lowlevel.checkpoint()
    await watched.end()
    assert (watched.records, watched.watch.counts) == ([], {})


async def test_a_round_that_becomes_old_is_looked_at_often_and_the_next_one_is_not(mock_clock: MockClock) -> None:
    watched = Watched(mock_clock)
    hurries(watched, 0.04)
    assert watched.pause() == 0.125
    hurries(watched, 0.02)
    assert watched.pause() == LOOK_QUICKLY
    hurries(watched, 4)
    assert watched.pause() == pytest.approx(4.06 / 50)
    await watched.end()
    assert watched.pause() == 0.125


@pytest.mark.parametrize(("threshold", "pause"), [(0.05, 0.25 / 7), (0.2, 0.125), (0.5, 0.25), (60, LOOK_EVERY)])
async def test_every_stall_is_looked_at_before_it_is_over(
    mock_clock: MockClock, threshold: float, pause: float
) -> None:
    assert Watched(mock_clock, threshold).pause() == pytest.approx(pause)
    assert pause <= max(threshold * 0.75, LOOK_QUICKLY)


async def test_nothing_is_looked_at_if_it_is_not_wanted(mock_clock: MockClock) -> None:
    watched = Watched(mock_clock, 0)
    parses_slowly(watched, 0.1, 0.3)
    await watched.end()
    assert (watched.records, watched.pause()) == ([], LOOK_EVERY)


async def test_the_collectors_time_is_no_functions_fault(mock_clock: MockClock) -> None:
    watched = Watched(mock_clock)
    hurries(watched, 0.06)
    watched.pauses.seconds[2].observe(0.25)
    hurries(watched, 0.25)
    await watched.end()
    (record,) = watched.records
    assert record == {"seconds": 0.31, "error": "Python's garbage collector ran"}
    assert watched.watch.counts == {"collector": 1}
    hurries(watched, 0.06)
    watched.pauses.seconds[2].observe(0.25)
    hurries(watched, 0.5)
    await watched.end()
    assert "hurries" in watched.records[-1]["function"], "it took too long also without the collector"


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The time of day of the looking thread, and the CPU time of the loop's thread."""
    made = SimpleNamespace(now=0.0, cpu=0.0)
    fake = SimpleNamespace(
        perf_counter=lambda: made.now, clock_gettime=lambda _: made.cpu, pthread_getcpuclockid=lambda _: 1  # pyright: ignore[reportUnknownLambdaType]
    )  # fmt: skip
    monkeypatch.setattr(stalls, "time", fake)
    return made


class Waits:
    """An event for which a thread waits as long as it says."""

    def __init__(self, times: SimpleNamespace, *, late: float, cpu: float) -> None:
        self._times, self._late, self._cpu = times, late, cpu

    def wait(self, seconds: float) -> bool:
        self._times.now += seconds + self._late
        self._times.cpu += self._cpu
        return False


@pytest.mark.parametrize(
    ("cpu", "cause"),
    [(0.0, "pause"), (0.05, "pause"), (2.9, "function")],
    ids=["stopped", "stopped after some work", "busy in C, which lets no other thread look"],
)
async def test_a_process_that_was_stopped_is_no_functions_fault(
    times: SimpleNamespace, mock_clock: MockClock, cpu: float, cause: str
) -> None:
    watched = Watched(mock_clock)
    hurries(watched, 0.06)
    waits: Any = Waits(times, late=3, cpu=cpu)
    assert watched.watch.wait(waits) is False
    hurries(watched, 3.0)
    await watched.end()
    assert watched.watch.counts == {cause: 1}
    assert ("function" in watched.records[0]) is (cause == "function")
    if cause == "pause":
        assert watched.records[0]["error"] == "the machine was busy or the process was stopped"


async def test_the_turn_is_told_or_else_the_request(mock_clock: MockClock) -> None:
    watched = Watched(mock_clock)

    def answers(request: SimpleNamespace) -> str:
        parses_slowly(watched, 0.1, 0.2)
        return request.request_id

    answers(SimpleNamespace(request_id="r-1"))
    await watched.end()
    assert watched.records[0]["request_id"] == "r-1"
    in_turn = Watched(mock_clock, turn={"actor": "home/7", "message": "HomePage"})
    parses_slowly(in_turn, 0.1, 0.2)
    await in_turn.end()
    assert (in_turn.records[0]["actor"], in_turn.records[0]["message"]) == ("home/7", "HomePage")


async def test_a_stall_without_end_is_logged_while_it_goes_on(mock_clock: MockClock) -> None:
    watched = Watched(mock_clock)
    parses_slowly(watched, 0.1, GOES_ON, 5)
    assert [(record["decision"], record["seconds"]) for record in watched.records] == [("it goes on", 10.1)]
    assert not watched.watch.counts
    await watched.end()
    assert [record["seconds"] for record in watched.records] == [10.1, 15.1]
    assert watched.watch.counts == {"function": 1}


async def test_a_stall_of_many_functions_holds_few(mock_clock: MockClock) -> None:
    watched = Watched(mock_clock)
    names: dict[str, Any] = {}
    for number in range(3 * MOST_FUNCTIONS):
        exec(compile(f"def f{number}(look): look.start(), look.join()", "many.py", "exec"), names)
        names[f"f{number}"](watched.after(0.06))
    held = watched.watch._round  # pyright: ignore[reportPrivateUsage]  # that memory is bounded shows nowhere else
    assert held is not None
    assert len(held.stacks) == len(held.seen) == MOST_FUNCTIONS
    await watched.end()
    assert len(watched.records) == 1


async def test_doctor_shows_the_last_days_stalls(mock_clock: MockClock) -> None:
    watched = Watched(mock_clock)

    def texts() -> list[str]:
        said = watched.watch.last_day()
        found = list(evaluate(said["threshold"], datetime.fromisoformat(said["since"]), said["stalls"]))
        assert {finding.state for finding in found} <= {"good", "note"}
        return [finding.text for finding in found]

    assert texts() == ["nothing kept it for 0.2 s or longer since 2026-11-21 12:00 UTC"]
    for seconds in (0.3, 0.9, 0.5):
        watched.now += timedelta(hours=1)
        parses_slowly(watched, 0.1, seconds - 0.1)
        await watched.end()
    watched.pauses.seconds[2].observe(1)
    hurries(watched, 0.5)
    await watched.end()
    function = f"parses_slowly ({__file__}:{parses_slowly.__code__.co_firstlineno})"
    assert texts() == [
        f"{function} kept all clients waiting 3 times, for 0.90 s at most (2026-11-21 14:00 UTC) since"
        " 2026-11-21 12:00 UTC",
        "the garbage collector, or a busy machine, did so once, for 0.50 s at most (2026-11-21 15:00 UTC)",
    ]
    watched.now += timedelta(days=1)
    assert texts()[0].startswith("the garbage collector, or a busy machine") is False
    watched.now += timedelta(hours=1)
    assert texts() == ["nothing kept it for 0.2 s or longer since 2026-11-21 16:00 UTC"]
    assert [one.text for one in evaluate(0, NOON, [])] == ["it is not watched: `loop_stall_warning` is 0"]
