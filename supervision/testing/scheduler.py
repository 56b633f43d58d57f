"""The scheduler: a strategy makes the choices of Trio's run loop.

Trio has a switch for hypothesis: when `trio._core._run._ALLOW_DETERMINISTIC_SCHEDULING` is true, the loop sorts each
batch of runnable tasks by creation and passes it to `trio._core._run._r.shuffle`. Seeding `_r` was turned down: a
shuffle cannot hold a task back for longer than a batch, and so reaches 32 of the 252 interleavings of two tasks of
five steps. `Scheduler` replaces `_r`, leaves one task in the batch and puts the others back, so that the strategy
chooses among all runnable tasks at every step. `QuietIo` replaces `TheIOManager`, which makes the loop's access to the
kernel's events. `tests/testing/test_trio_hooks.py` checks Trio for the names used here.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from math import inf
from types import CodeType
from typing import Any, NamedTuple

import trio
from outcome import Error
from trio.testing import MockClock

from .strategies import CLOCK, Strategy
from .trace import Line

run_loop: Any = trio._core._run  # pyright: ignore[reportPrivateUsage]  # the hooks have no public names
IoManager: Any = run_loop.TheIOManager

# After the step limit the tasks are cancelled. They get about this many more steps to clean up.
GRACE = 10_000

SLEEP = trio.sleep_until.__code__  # where trio.sleep() waits

# The line of a trace after which the rest is the cleaning up of a failed run, and the reason of its cancellations.
RUN_FAILED = "the run has failed"


class Deadlock(Exception):
    """Raised when every task waits, and no deadline is left that could wake a task."""

    def __init__(self, waiting: str) -> None:
        super().__init__(f"all tasks wait: {waiting}")


class Livelock(Exception):
    """Raised when the step limit was reached: tasks run, but the scenario does not end."""


class Decision(NamedTuple):
    """A choice: the option taken, of how many, and True if option 0 was to stay with the running task."""

    taken: int
    width: int
    stay: bool


class Scheduler(trio.abc.Instrument):
    """Asks the strategy at every step, records its choices, and checks the claims that must always hold."""

    def __init__(
        self, strategy: Strategy, clock: MockClock, *, time_is_a_choice: bool = False, step_limit: int = 100_000
    ) -> None:
        self.clock = clock
        # The MockClock with less work: Trio's also asks the real clock, and makes statistics for each jump.
        self._now = clock.current_time = partial(getattr, clock, "_virtual_base")
        clock._autojump = self._jump  # pyright: ignore[reportPrivateUsage]  # it has no public name
        self.decisions: list[Decision] = []
        self.trace: list[Line] = []
        self.checks: list[Callable[[], None]] = []
        self.error: BaseException | None = None
        self.refusals: list[BaseException] = []  # of forbidden calls of other threads
        self.explain_deadlock: Callable[[str], BaseException] = Deadlock
        self.waits_for_frozen: BaseException | None = None  # the run's error if it has no other
        self.scope = trio.CancelScope()
        self.steps = 0
        self._strategy = strategy
        self._time_is_a_choice = time_is_a_choice
        self._step_limit = step_limit
        self._names: dict[trio.lowlevel.Task, str] = {}  # "" for Trio's own tasks
        self._traced_cancelled: dict[trio.lowlevel.Task, object] = {}  # the cancel status that the trace has
        self._serials: Counter[str] = Counter()
        self._labels: list[str] = []
        self._label_of: dict[trio.lowlevel.Task, str] = {}
        self._frozen: set[str] = set()  # labels
        self._held: list[trio.lowlevel.Task] = []  # tasks of frozen nodes that could run
        self._running = "-"
        self._last_turn = ""
        self._shields_broken = False

    # The methods for the simulated world

    def note(self, what: str, who: str | None = None) -> None:
        """Put a line into the trace. Traces of two runs are compared, so it must have no id() and no real time."""
        self.trace.append(Line(self._now(), who or self._running, what))

    def choose(self, names: Sequence[str], pause: str) -> int:
        """Return the index of the actor that has the next turn, or of `pause`: then other tasks may run first."""
        options = list(names)
        stay = move_first(options, options, self._last_turn)
        chosen = options[self._decide(options, stay=stay)]
        if chosen != pause:
            self._last_turn = chosen
        return names.index(chosen)

    def fail(self, error: BaseException) -> None:
        """End the run with this error; the first error counts."""
        if self.error is None:
            self.error = error
            self._cancel(error)

    def _cancel(self, error: BaseException) -> None:
        self.note(f"{RUN_FAILED}: {type(error).__name__}", "-")
        self.scope.cancel(RUN_FAILED)
        for label in sorted(self._frozen):
            self.thaw(label)

    # Nodes: the tasks whose names begin with the same label, as the tasks of one process

    def add_label(self, label: str) -> None:
        """Give the names of tasks a label if they are started in nurseries of tasks whose names begin with the label.

        Only tasks that have not run yet are named.
        """
        if label not in self._labels:
            self._labels.append(label)

    def freeze(self, label: str) -> None:
        """Let no task of a node run, as after SIGSTOP, while the others go on and time passes. Its deadlines pass too.

        The running task still goes to its next checkpoint.
        """
        if label not in self._labels:
            raise LookupError(f"{label!r} is no label of tasks")
        if label not in self._frozen:
            self._frozen.add(label)
            self.note("is frozen", label.strip())

    def thaw(self, label: str) -> None:
        """Let the tasks of a node run again. If it is not frozen, do nothing."""
        if label not in self._frozen:
            return
        self._frozen.remove(label)
        self.note("is thawed", label.strip())
        thawed = [task for task in self._held if self._label_of[task] == label]
        self._held = [task for task in self._held if self._label_of[task] != label]
        run_loop.GLOBAL_RUN_CONTEXT.runner.runq.extend(thawed)

    # The methods of Trio's private random source

    def random(self) -> float:
        return 0.0

    def uniform(self, a: float, b: float) -> float:
        return a

    def shuffle(self, batch: list[trio.lowlevel.Task]) -> None:
        """Leave only the task that runs next in the batch; the others go back to the run queue."""
        if self.refusals:
            self.fail(self.refusals[0])
        if not batch:
            self._look_for_deadlock()
            return
        if self._frozen:
            self._hold_back(batch)
            if not batch:
                return
        self.steps += 1
        if self.steps >= self._step_limit:
            self._end_livelock()
        chosen = self._next_task(batch)
        if chosen is None:
            run_loop.GLOBAL_RUN_CONTEXT.runner.runq.extend(batch)
            batch.clear()
        elif len(batch) > 1:
            batch.remove(chosen)
            run_loop.GLOBAL_RUN_CONTEXT.runner.runq.extend(batch)
            batch[:] = (chosen,)

    # trio.abc.Instrument

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        # Trio silently drops an instrument that raises.
        if self.error is None and self.checks:
            try:
                for check in self.checks:
                    check()
            except BaseException as error:
                self.fail(error)

    # The choice of a task

    def _next_task(self, batch: list[trio.lowlevel.Task]) -> trio.lowlevel.Task | None:
        """Return the task that runs next. None if time passes instead."""
        names = self._names
        try:
            options = [names[task] for task in batch]
        except KeyError:
            options = [self._name(task) for task in batch]
        if "" in options:
            return batch[options.index("")]  # Trio's own tasks go first and are not explored
        index = 0
        if len(batch) > 1 or self._time_is_a_choice:
            stay = move_first(batch, options, self._running)
            if self._time_is_a_choice and self._next_deadline() < inf:
                options.append(CLOCK)
            index = self._decide(options, stay=stay)
        chosen = options[index]
        if chosen == CLOCK:
            self._let_time_pass()
            return None
        self._running = chosen
        task = batch[index]
        if type(sent := task._next_send) is Error:  # pyright: ignore[reportPrivateUsage]  # it has no public name
            self._note_cancellation(task, sent.error)
        self.trace.append(Line(self._now(), chosen, ""))
        return task

    def _hold_back(self, batch: list[trio.lowlevel.Task]) -> None:
        """Take the tasks of frozen nodes out of the batch.

        They do not go back to the run queue, so that Trio takes them for tasks that wait: time passes if no other task
        can run.
        """
        for task in batch:
            self._name(task)
        self._held += [task for task in batch if self._label_of.get(task) in self._frozen]
        batch[:] = [task for task in batch if self._label_of.get(task) not in self._frozen]

    def _decide(self, options: Sequence[str], *, stay: bool) -> int:
        if len(options) == 1:
            return 0
        index = self._strategy.choose(options)
        self.decisions.append(Decision(index, len(options), stay))
        return index

    def _jump(self) -> None:
        """Go to the next deadline, because all tasks wait."""
        if 0 < (jump := self._next_deadline() - self._now()) < inf:
            self.clock.jump(jump)

    def _let_time_pass(self) -> None:
        self.clock.jump(max(0.0, self._next_deadline() - self.clock.current_time()))
        self.note("jumps to the next deadline", CLOCK)

    def _next_deadline(self) -> float:
        # Trio's own statistics have it too, but cost twice as much a step.
        return run_loop.GLOBAL_RUN_CONTEXT.runner.deadlines.next_deadline()

    # Names, which are the same in every run, so never an id()

    def _name(self, task: trio.lowlevel.Task) -> str:
        name = self._names.get(task)
        if name is None:
            name = self._names[task] = self._new_name(task)
        return name

    def _new_name(self, task: trio.lowlevel.Task) -> str:
        if not is_ours(task):
            return ""
        base = self._labelled(task, short_name(task))
        self._serials[base] += 1
        serial = self._serials[base]
        return base if serial == 1 else f"{base}#{serial}"

    def _labelled(self, task: trio.lowlevel.Task, name: str) -> str:
        """Return the name of a new task with its label: that of its name, or of the task in whose nursery it is."""
        label = next((label for label in self._labels if name.startswith(label)), None)
        if label is None:
            nursery = task.parent_nursery
            label = self._label_of.get(nursery.parent_task, "") if nursery else ""
            name = label + name
        if label:
            self._label_of[task] = label
        return name

    # Cancellations

    def _note_cancellation(self, task: trio.lowlevel.Task, error: BaseException) -> None:
        """Note the cause of a cancellation: once for each scope, because the task may wait there again and again."""
        status: Any = task._cancel_status  # pyright: ignore[reportPrivateUsage]  # it has no public name
        if not isinstance(error, trio.Cancelled) or self._traced_cancelled.get(task) is status:
            return
        # trio.sleep() is a scope that its deadline cancels.
        if status._scope.cancel_called and any(frame.f_code is SLEEP for frame, _ in task.iter_await_frames()):
            return
        self._traced_cancelled[task] = status
        self.note(f"is cancelled {self._cause(error)}", self._names[task])

    def _cause(self, error: trio.Cancelled) -> str:
        """Return the cause of a task's cancellation. Trio names the other task by its repr, which has an address."""
        if error.source == "deadline":
            return "by a deadline"
        if error.reason == RUN_FAILED:
            return f"because {RUN_FAILED}"
        by = next((name for task, name in self._names.items() if name and repr(task) == error.source_task), None)
        if error.source == "nursery":
            return f"because {by or 'a task'} failed in the same nursery"
        return f"by {by or error.source}" + (f": {error.reason}" if error.reason else "")

    # Runs that do not end by themselves

    def _end_livelock(self) -> None:
        if self.steps == self._step_limit:
            busiest = Counter(line.who for line in self.trace[-1000:]).most_common(3)
            who = ", ".join(f"{name} ({count} of the last 1000 lines)" for name, count in busiest)
            after = f"{self.steps} steps and {self.clock.current_time():.0f} s"
            self.fail(Livelock(f"not done after {after}; busy: {who}{self._frozen_tasks()}"))
        elif self.steps % GRACE == 0:
            self._break_shields()

    def _look_for_deadlock(self) -> None:
        runner = run_loop.GLOBAL_RUN_CONTEXT.runner
        if runner.runq or self._next_deadline() < inf or runner.entry_queue.size():
            return
        waiting = [
            f"{name} at {place(task)}"
            for task, name in self._names.items()
            if name and task.coro.cr_await and task not in self._held
        ]
        if self._held:
            # The others may only wait for the end of tasks that cannot be cancelled now, because the scenario failed.
            self.waits_for_frozen = self.explain_deadlock(", ".join(waiting) + self._frozen_tasks())
            self._cancel(self.waits_for_frozen)
        elif self.error is None:
            self.fail(self.explain_deadlock(", ".join(waiting)))
        else:
            self._break_shields()

    def _frozen_tasks(self) -> str:
        return f"; frozen: {', '.join(self._names[task] for task in self._held)}" if self._held else ""

    def _break_shields(self) -> None:
        """End tasks that go on, or wait, under a shield after the run has failed and was cancelled."""
        if self._shields_broken:
            raise RuntimeError("a cancelled run does not end, even without its shields") from self.error
        self._shields_broken = True
        for task in self._names:
            # Trio has no public way to see that a task waits for its cancellation.
            status: Any = task._cancel_status  # pyright: ignore[reportPrivateUsage]  # it has no public name
            while status is not None:
                status._scope.shield = False
                status = status._parent


class QuietIo(IoManager):
    """Asks the kernel for events only when Trio was woken from outside: a simulated run has no other events."""

    def get_events(self, timeout: float) -> Sequence[object]:
        runner = run_loop.GLOBAL_RUN_CONTEXT.runner
        return () if runner.runq or not runner.entry_queue.size() else IoManager.get_events(self, timeout)


@contextmanager
def in_charge(scheduler: Scheduler) -> Generator[None]:
    """Put Trio's run loop under the scheduler, and turn the collector off: finalisers must not add steps."""
    saved = run_loop._r, run_loop._ALLOW_DETERMINISTIC_SCHEDULING, run_loop.TheIOManager
    collecting = gc.isenabled()
    run_loop._r, run_loop._ALLOW_DETERMINISTIC_SCHEDULING, run_loop.TheIOManager = scheduler, True, QuietIo
    gc.disable()
    try:
        yield
    finally:
        run_loop._r, run_loop._ALLOW_DETERMINISTIC_SCHEDULING, run_loop.TheIOManager = saved
        if collecting:
            gc.enable()


# `Any`: the items are moved and not looked at.
def move_first(items: list[Any], names: list[str], current: str) -> bool:
    """Move the task called `current` to the front of both lists, which may be the same list. True if it was there."""
    if current not in names:
        return False
    if index := names.index(current):
        items.insert(0, items.pop(index))
        if names is not items:
            names.insert(0, names.pop(index))
    return True


class Outside:
    """Run blocking work on another loop: trio-asyncio, once imported, asks Trio's current task for asyncio's loop.

    A class, because it is entered for each transaction: a generator costs three times as much.
    """

    __slots__ = ("_task",)

    def __enter__(self) -> None:
        self._task = run_loop.GLOBAL_RUN_CONTEXT.__dict__.pop("task", None)

    def __exit__(self, *error: object) -> None:
        if self._task is not None:
            run_loop.GLOBAL_RUN_CONTEXT.task = self._task


def is_ours(task: trio.lowlevel.Task) -> bool:
    """True if the task is under the main task. All others are Trio's own."""
    main = run_loop.GLOBAL_RUN_CONTEXT.runner.main_task
    ancestor: trio.lowlevel.Task | None = task
    while ancestor is not None and ancestor is not main:
        nursery = ancestor.parent_nursery
        ancestor = nursery.parent_task if nursery else None
    return ancestor is not None


def short_name(task: trio.lowlevel.Task) -> str:
    """Return the name that the task was started with, or of its function without the module."""
    qualified: str = task.coro.__qualname__
    return qualified.rsplit(".", 1)[-1] if task.name.endswith(qualified) else task.name


def place(task: trio.lowlevel.Task) -> str:
    """Return the line where a task waits: the innermost line that is not Trio's."""
    ours = [
        frame_place(frame.f_code, line)
        for frame, line in task.iter_await_frames()
        if "/trio/" not in frame.f_code.co_filename
    ]
    return ours[-1] if ours else task.coro.__qualname__


def frame_place(code: CodeType, line: int) -> str:
    return f"{code.co_filename.rsplit('/', 1)[-1]}:{line} in {code.co_name}"
