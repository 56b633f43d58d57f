"""The supervisor: order, rest for one, grace, intensity, and what ends it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from troupe.supervision.supervisor import Child, GaveUp, Supervisor
from troupe.supervision.testing.errors import leaves


class Fatal(Exception):
    """After this no restart is tried."""


class Stage:
    """Children that write down what happens to them; `fail` crashes one."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.records: list[tuple[str, dict[str, Any]]] = []
        self.start_errors: dict[str, Exception] = {}
        self.stop_errors: dict[str, Exception] = {}
        self._crashes: dict[str, trio.Event] = {}
        self._errors: dict[str, Exception] = {}

    def record(self, event: str, /, **facts: object) -> None:
        self.records.append((event, facts))

    def told(self, event: str) -> list[dict[str, Any]]:
        return [facts for word, facts in self.records if word == event]

    def fail(self, name: str, error: Exception | None = None) -> None:
        self._errors[name] = error or ValueError(name)
        self._crashes[name].set()

    def child(self, name: str, *, stops_after: float = 0, grace: float = 5.0) -> Child:
        async def run(stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
            if name in self.start_errors:
                raise self.start_errors[name]
            self.events.append(f"{name} starts")
            self._crashes[name] = trio.Event()
            task_status.started()
            try:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._crash, name)
                    await stopping.wait()
                    await trio.sleep(stops_after)
                    nursery.cancel_scope.cancel()
                if name in self.stop_errors:
                    raise self.stop_errors[name]
                self.events.append(f"{name} stops")
            except Exception:
                raise
            except BaseException:  # Cancelled, in the groups of its nurseries
                self.events.append(f"{name} is cancelled")
                raise

        return Child(name, run, grace=grace)

    async def _crash(self, name: str) -> None:
        await self._crashes[name].wait()
        self.events.append(f"{name} crashes")
        raise self._errors[name]

    @asynccontextmanager
    async def running(self, *children: Child, **options: Any) -> AsyncGenerator[Supervisor]:
        """A supervisor in its life; the block's end asks it to stop."""
        supervisor = Supervisor("troupe", list(children), self.record, **options)
        stopping = trio.Event()
        async with trio.open_nursery() as nursery:
            await nursery.start(supervisor.run, stopping)
            self.events.clear()
            yield supervisor
            stopping.set()


@pytest.fixture
def stage(autojump_clock: MockClock) -> Stage:
    return Stage()


def leaf(error: BaseException) -> BaseException:
    """The one error inside the group of a test's own nursery."""
    (only,) = leaves(error)
    return only


async def test_children_start_in_order_and_stop_in_reverse_order(stage: Stage, autojump_clock: MockClock) -> None:
    supervisor = Supervisor("troupe", [stage.child(name) for name in "abc"], stage.record)
    stopping = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(supervisor.run, stopping)
        assert stage.events == ["a starts", "b starts", "c starts"]
        stopping.set()
    assert stage.events[3:] == ["c stops", "b stops", "a stops"]
    assert [facts["child"] for facts in stage.told("child.stopped")] == ["c", "b", "a"]


async def test_a_child_starts_when_the_one_before_it_says_that_it_has_started(
    stage: Stage, autojump_clock: MockClock
) -> None:
    async def slow(stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        await trio.sleep(3)
        stage.events.append("slow has started")
        task_status.started()
        await stopping.wait()

    supervisor = Supervisor("troupe", [Child("slow", slow), stage.child("next")], stage.record)
    stopping = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(supervisor.run, stopping)
        assert stage.events == ["slow has started", "next starts"]
        stopping.set()


async def test_a_crash_restarts_the_child_and_those_after_it(stage: Stage, autojump_clock: MockClock) -> None:
    async with stage.running(*map(stage.child, "abc")):
        stage.fail("b")
        await wait_all_tasks_blocked()
        assert stage.events == ["b crashes", "c stops", "b starts", "c starts"]
        (facts,) = stage.told("child.crashed")
        assert (facts["child"], facts["error"]) == ("b", "ValueError: b")
        assert facts["place"].startswith("test_supervisor.py:")


@pytest.mark.parametrize("round", range(8))
async def test_two_crashes_at_once_restart_no_child_twice(stage: Stage, autojump_clock: MockClock, round: int) -> None:
    async with stage.running(*map(stage.child, "abc")) as supervisor:
        stage.fail("a")
        stage.fail("c")
        await trio.sleep(1)
        assert [child.starts for child in supervisor.children] == [2, 2, 2]


async def test_a_child_that_fails_while_it_is_stopped_for_another_is_restarted_once(
    stage: Stage, autojump_clock: MockClock
) -> None:
    stage.stop_errors["c"] = OSError("in the clean-up")
    async with stage.running(*map(stage.child, "abc")) as supervisor:
        stage.fail("b")
        await wait_all_tasks_blocked()
        assert [child.starts for child in supervisor.children] == [1, 2, 2]
        assert [facts["child"] for facts in stage.told("child.crashed")] == ["b"]
        assert stage.told("child.stopped")[0]["error"] == "OSError: in the clean-up"


async def test_a_child_that_returns_unasked_has_crashed(stage: Stage, autojump_clock: MockClock) -> None:
    returned: list[int] = []

    async def run(stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        if not returned:
            returned.append(1)
            return
        await stopping.wait()

    async with stage.running(Child("short", run)) as supervisor:
        await wait_all_tasks_blocked()
        assert supervisor.children[0].starts == 2
        assert "returned without being asked to stop" in stage.told("child.crashed")[0]["error"]


async def test_a_child_that_does_not_stop_within_its_grace_is_cancelled(
    stage: Stage, autojump_clock: MockClock
) -> None:
    began = trio.current_time()
    async with stage.running(stage.child("a"), stage.child("b", stops_after=60, grace=2)):
        pass
    assert stage.events == ["b is cancelled", "a stops"]
    assert trio.current_time() == began + 2
    assert [facts["decision"] for facts in stage.told("child.stopped")] == [
        "cancelled after the grace period",
        "in order",
    ]


async def test_each_child_has_its_own_grace(stage: Stage, autojump_clock: MockClock) -> None:
    began = trio.current_time()
    async with stage.running(*(stage.child(name, stops_after=3, grace=4) for name in "abc")):
        pass
    assert stage.events == ["c stops", "b stops", "a stops"]
    assert trio.current_time() == began + 9


async def test_more_crashes_than_are_tolerated_end_the_supervisor_in_order(
    stage: Stage, autojump_clock: MockClock
) -> None:
    async def crash_often() -> None:
        async with stage.running(*map(stage.child, "ab")):
            for _ in range(4):
                stage.fail("b")
                await trio.sleep(1)
            await trio.sleep_forever()

    with pytest.raises(BaseExceptionGroup) as ended:
        await crash_often()
    error = leaf(ended.value)
    assert isinstance(error, GaveUp)
    assert isinstance(error.__cause__, ValueError)
    assert [facts["decision"] for facts in stage.told("child.crashed")][-2:] == [
        "restart it and the children after it in 0.5 s",
        "give up",
    ]
    assert stage.events[-2:] == ["b crashes", "a stops"]


async def test_crashes_that_lie_far_apart_are_tolerated(stage: Stage, autojump_clock: MockClock) -> None:
    async with stage.running(stage.child("a")) as supervisor:
        for _ in range(12):
            stage.fail("a")
            await trio.sleep(11)
        assert supervisor.children[0].starts == 13


@pytest.mark.parametrize(
    "error",
    [Fatal("fenced"), ExceptionGroup("two tasks found it", [Fatal("fenced"), Fatal("fenced")])],
    ids=["alone", "twice"],
)
async def test_after_a_fatal_error_no_restart_is_tried(
    stage: Stage, autojump_clock: MockClock, error: Exception
) -> None:
    """The children's own nurseries wrap it in groups; it is known all the same."""

    async def be_fenced() -> None:
        async with stage.running(*map(stage.child, "ab"), fatal=(Fatal,)):
            stage.fail("b", error)
            await trio.sleep_forever()

    with pytest.raises(BaseExceptionGroup) as ended:
        await be_fenced()
    assert isinstance(leaf(ended.value), Fatal)
    assert stage.told("child.crashed")[0]["decision"] == "give up"
    assert stage.events == ["b crashes", "a stops"]


async def test_a_child_that_fails_at_its_first_start_ends_the_supervisor_and_stops_those_before_it(
    stage: Stage, autojump_clock: MockClock
) -> None:
    stage.start_errors["b"] = OSError("port in use")
    supervisor = Supervisor("troupe", [stage.child(name) for name in "abc"], stage.record)
    with pytest.raises(OSError, match="port in use"):
        await supervisor.run(trio.Event())
    assert stage.events == ["a starts", "a stops"]


async def test_a_child_that_cannot_start_again_is_tried_after_growing_pauses_and_then_given_up(
    stage: Stage, autojump_clock: MockClock
) -> None:
    tries: list[float] = []
    well = stage.child("b").run

    async def run(stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        tries.append(trio.current_time())
        await well(stopping, task_status=task_status)

    async def lose_the_port() -> None:
        async with stage.running(stage.child("a"), Child("b", run), stage.child("c")):
            tries[:] = [trio.current_time()]
            stage.start_errors["b"] = OSError("port in use")
            stage.fail("b")
            await trio.sleep_forever()

    with pytest.raises(BaseExceptionGroup) as ended:
        await lose_the_port()
    assert isinstance(leaf(ended.value), GaveUp)
    assert [round(after - before, 3) for before, after in pairwise(tries)] == [0, 0.1, 0.5, 2, 10]
    assert [facts["error"] for facts in stage.told("child.crashed")] == ["ValueError: b"] + ["OSError: port in use"] * 5
    assert stage.told("child.crashed")[2]["decision"] == "restart it and the children after it in 0.5 s"
    assert stage.events == ["b crashes", "c stops", "a stops"]


async def test_a_cause_that_goes_away_within_ten_seconds_does_not_end_the_server(
    stage: Stage, autojump_clock: MockClock
) -> None:
    async with stage.running(*map(stage.child, "abc")) as supervisor:
        stage.start_errors["b"] = OSError("port in use")
        stage.fail("b")
        await trio.sleep(10)
        del stage.start_errors["b"]
        await trio.sleep(5)
        assert [child.snapshot()["state"] for child in supervisor.children] == ["running"] * 3
        assert stage.events == ["b crashes", "c stops", "b starts", "c starts"]


async def test_crashes_in_a_row_are_answered_with_growing_pauses(stage: Stage, autojump_clock: MockClock) -> None:
    starts: list[float] = []
    well = stage.child("a").run

    async def run(stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        starts.append(trio.current_time())
        await well(stopping, task_status=task_status)

    async with stage.running(Child("a", run)):
        begun = trio.current_time()
        for _ in range(6):
            stage.fail("a")
            await trio.sleep(25)
    assert [(start - begun) % 25 for start in starts[1:]] == pytest.approx([0, 0.1, 0.5, 2, 10, 10], abs=0.001)


async def test_half_a_minute_without_a_crash_ends_the_sequence_of_pauses(
    stage: Stage, autojump_clock: MockClock
) -> None:
    async with stage.running(stage.child("a")) as supervisor:
        for _ in range(3):
            stage.fail("a")
            await wait_all_tasks_blocked()
            assert supervisor.children[0].snapshot()["state"] == "running"
            await trio.sleep(31)


async def test_a_server_that_is_told_to_stop_does_not_wait_for_the_end_of_a_pause(
    stage: Stage, autojump_clock: MockClock
) -> None:
    async with stage.running(*map(stage.child, "ab")):
        stage.start_errors["b"] = OSError("port in use")
        stage.fail("b")
        await trio.sleep(5)
        stopped_at = trio.current_time()
    assert trio.current_time() == stopped_at
    assert stage.events == ["b crashes", "a stops"]


async def test_when_an_earlier_child_crashes_during_a_pause_nothing_starts_on_top_of_it(
    stage: Stage, autojump_clock: MockClock
) -> None:
    async with stage.running(*map(stage.child, "abc")) as supervisor:
        stage.start_errors["c"] = OSError("port in use")
        stage.fail("c")
        await trio.sleep(1)
        del stage.start_errors["c"]
        stage.fail("a")
        await trio.sleep(20)
        assert stage.events == ["c crashes", "a crashes", "b stops", "a starts", "b starts", "c starts"]
        assert [child.snapshot()["state"] for child in supervisor.children] == ["running"] * 3


async def test_a_child_that_starts_again_at_the_second_try_brings_the_others_back(
    stage: Stage, autojump_clock: MockClock
) -> None:
    failures = [OSError("port in use")]
    well = stage.child("b").run

    async def run(stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        if stage.told("child.crashed") and failures:
            raise failures.pop()
        await well(stopping, task_status=task_status)

    async with stage.running(stage.child("a"), Child("b", run), stage.child("c")):
        stage.fail("b")
        await trio.sleep(1)
        assert stage.events == ["b crashes", "c stops", "b starts", "c starts"]


async def test_when_the_supervisor_is_cancelled_its_children_end_before_it(
    stage: Stage, autojump_clock: MockClock
) -> None:
    async with trio.open_nursery() as nursery:
        supervisor = Supervisor("troupe", [stage.child(name) for name in "ab"], stage.record)
        await nursery.start(supervisor.run, trio.Event())
        nursery.cancel_scope.cancel()
    assert {child.snapshot()["state"] for child in supervisor.children} == {"stopped"}


async def test_the_portrait_shows_every_child_with_its_state_and_what_it_tells_of_itself(
    stage: Stage, autojump_clock: MockClock
) -> None:
    inspect: Callable[[], dict[str, object]] = lambda: {"awake": 3}  # noqa: E731  # a value of the snapshot
    talker = stage.child("b")
    talker.inspect = inspect
    async with stage.running(stage.child("a"), talker) as supervisor:
        stage.fail("b")
        await wait_all_tasks_blocked()
        assert supervisor.snapshot() == {
            "name": "troupe",
            "children": [
                {"name": "a", "state": "running", "starts": 1},
                {"name": "b", "state": "running", "starts": 2, "awake": 3},
            ],
        }
    assert [child.snapshot()["state"] for child in supervisor.children] == ["stopped", "stopped"]
