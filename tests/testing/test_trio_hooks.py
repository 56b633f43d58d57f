"""Canaries: the names inside Trio that the scheduler stands on."""

from __future__ import annotations

import inspect
from typing import Any

import trio
from trio.testing import MockClock

from troupe.supervision.testing.scheduler import SLEEP, run_loop

WHAT_TO_DO = """
Trio's run loop has changed: {what}.
The simulator (supervision/testing/scheduler.py) replaces _r and TheIOManager of trio._core._run and switches
_ALLOW_DETERMINISTIC_SCHEDULING on. Read how trio._core._run.unrolled_run now orders `batch`, bring the scheduler into
line, run tests/testing, and only then move the pin of trio in pyproject.toml. Until then stay on the pinned version.
"""


def hold(true: object, what: str) -> None:
    assert true, WHAT_TO_DO.format(what=what)


def test_the_switch_is_off_by_default_and_the_random_source_is_where_it_was() -> None:
    hold(run_loop.__dict__.get("_ALLOW_DETERMINISTIC_SCHEDULING") in (False, True), "the switch is gone")
    hold("_r" in run_loop.__dict__ and hasattr(run_loop._r, "shuffle"), "the random source _r is gone")


def test_the_loop_sorts_the_batch_and_hands_it_to_shuffle() -> None:
    loop = inspect.getsource(run_loop.unrolled_run)
    hold("if _ALLOW_DETERMINISTIC_SCHEDULING:" in loop, "the switch is not asked")
    hold("batch.sort(key=lambda t: t._counter)" in loop, "the batch is not sorted by creation")
    hold("_r.shuffle(batch)" in loop, "the batch is not shuffled by _r")
    hold("batch = list(runner.runq)" in loop, "the batch does not come from runner.runq")


def test_the_loop_asks_for_events_where_the_scheduler_answers() -> None:
    hold("io_manager = TheIOManager()" in inspect.getsource(run_loop.setup_runner), "TheIOManager is not asked for")
    hold("runner.io_manager.get_events(timeout)" in inspect.getsource(run_loop.run), "get_events is not called")


async def test_what_the_scheduler_reads_of_a_running_loop_is_there() -> None:
    runner: Any = run_loop.GLOBAL_RUN_CONTEXT.runner
    task: Any = trio.lowlevel.current_task()
    hold(hasattr(runner.runq, "extend"), "the run queue")
    hold(hasattr(runner.deadlines, "next_deadline"), "the deadlines")
    hold(hasattr(runner, "main_task"), "the main task")
    hold(runner.entry_queue.size() == 0, "the queue of what wakes the loop from outside")
    hold(hasattr(task._cancel_status, "_parent"), "the chain of cancel scopes")
    hold(hasattr(task._cancel_status._scope, "shield"), "the scope of a cancel status")
    hold(hasattr(task, "_next_send"), "what a task is sent when it runs next")


async def test_a_cancellation_says_its_source_and_a_sleep_is_found_in_its_frames() -> None:
    caught: list[trio.Cancelled] = []

    async def sleep() -> None:
        try:
            await trio.sleep(60)
        except trio.Cancelled as cancelled:
            caught.append(cancelled)
            raise

    async with trio.open_nursery() as nursery:
        nursery.start_soon(sleep)
        await trio.testing.wait_all_tasks_blocked()
        [task] = nursery.child_tasks
        hold(any(frame.f_code is SLEEP for frame, _ in task.iter_await_frames()), "where trio.sleep() waits")
        nursery.cancel_scope.cancel("closing time")
    hold([(one.source, one.reason) for one in caught] == [("explicit", "closing time")], "the source of a cancellation")
    hold(str(caught[0].source_task).startswith("<Task "), "the task that has cancelled")


def test_the_mock_clock_is_what_the_scheduler_makes_of_it() -> None:
    clock: Any = MockClock(autojump_threshold=0)
    hold("runner.clock._autojump()" in inspect.getsource(run_loop.unrolled_run), "how time jumps when all tasks wait")
    hold(callable(clock._autojump), "the jump of the mock clock")
    hold(not clock.rate, "the mock clock follows the real one by itself")
    clock.jump(3.5)
    hold(clock._virtual_base == clock.current_time() == 3.5, "the time of the mock clock")


def test_the_loop_runs_the_task_that_shuffle_leaves() -> None:
    """Not by reading: by standing in for it."""
    order: list[str] = []

    class LastFirst:
        def random(self) -> float:
            return 0.0

        def uniform(self, a: float, b: float) -> float:
            return a

        def shuffle(self, batch: list[Any]) -> None:
            if len(batch) > 1:
                *later, chosen = batch
                run_loop.GLOBAL_RUN_CONTEXT.runner.runq.extend(later)
                batch[:] = [chosen]

    async def step(name: str) -> None:
        order.append(name)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for name in "abc":
                nursery.start_soon(step, name)

    saved = run_loop._r, run_loop._ALLOW_DETERMINISTIC_SCHEDULING
    run_loop._r, run_loop._ALLOW_DETERMINISTIC_SCHEDULING = LastFirst(), True
    try:
        trio.run(main, clock=MockClock(autojump_threshold=0))
    finally:
        run_loop._r, run_loop._ALLOW_DETERMINISTIC_SCHEDULING = saved
    hold(order == ["c", "b", "a"], f"three tasks ran in the order {order}")


def test_what_keeps_a_run_from_threads_sockets_and_processes_is_where_it_was() -> None:
    inside: Any = trio
    back = inspect.getsource(inside._threads._send_message_to_trio) + inspect.getsource(inside._threads.Run)
    hold("run_in_host_task(trio_token)" in back and "token.run_sync_soon(" in back, "how threads call into the loop")
    hold("start_thread_soon(" in inspect.getsource(inside._threads.to_thread_run_sync), "how threads are started")
    hold("subprocess.Popen" in inspect.getsource(inside._subprocess._open_process), "how processes are started")
    hold(issubclass(inside._socket._SocketType, trio.socket.SocketType), "the type of all sockets")
    hold("io_manager.wait_readable" in inspect.getsource(trio.lowlevel.wait_readable), "how a descriptor is waited for")
