"""The stall watch: how long the event loop was kept, and by which function.

While one task runs, all others wait. The watchdog's thread looks at the loop from outside, eight times a second. The
loop itself does nothing for it: Trio holds the time at which the current round of its loop began in a local variable of
its run loop, and a look reads this variable. (An instrument of Trio would show it too, but costs each round 0.3 to
0.7 µs.) A run loop that waits for I/O is a generator that is suspended: its frame has no caller then. A round that is
older than usual is looked at more often until it ends. Each of these looks reads the frames of the loop's thread, and
notes the innermost function that is not of a library; the function that most looks have seen is named. Frames of young
rounds are not read: it costs more, and samplers that do so all the time have crashed Python 3.11.

A round may be long for reasons that no function has: the garbage collector ran, or the process got no CPU. The first is
measured by callbacks of the collector. The second is the time by which looks come late while the loop's thread used no
CPU: a function that computes uses CPU, and a function that only waits keeps no other thread from looking.
"""

from __future__ import annotations

import math
import sys
import sysconfig
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Literal, NamedTuple, get_args

import trio

from ...actors.kernel.clock import Clock
from ...actors.kernel.pool_context import Record
from ...actors.kernel.watchdog import LOOK_EVERY, Pace, Watchdog, innermost_frame
from ...storage.engine.json_values import JsonObject
from .pauses import CollectorPauses

OLD = 0.25  # of the threshold: the age from which a round is looked at quickly
LOOK_QUICKLY = 0.02  # seconds between two looks at an old round
MOST_LOOKS = 50  # at a stall of any length, about
GOES_ON = 10.0  # seconds after which a stall is logged although it has not ended
MOST_FUNCTIONS = 16  # that are counted in a stall
MOST_REMEMBERED = 1_000
REMEMBERED_FOR = timedelta(days=1)

# Names inside of Trio, whose version is pinned. `tests/supervision/test_stalls.py` finds out if they change.
RUN_LOOP = ("trio._core._run", "unrolled_run")
ROUND_BEGAN = "now"
# The functions that the run loop calls before the variable has the time of the new round.
BETWEEN_ROUNDS = ("process_events", "current_time")

PACKAGE = __name__.partition(".")[0]
ROOT = f"{Path(__file__).parents[1]}/"
LIBRARIES = ("<", *{sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})

Cause = Literal["function", "collector", "pause"]
CAUSES: tuple[Cause, ...] = get_args(Cause)
IN_WORDS: Mapping[Cause, str] = {
    "collector": "Python's garbage collector ran",
    "pause": "the machine was busy or the process was stopped",
}

Frames = list[tuple[str, int, str]]  # file, line and function, the outermost first


class Stall(NamedTuple):
    """A time for which the loop was kept. `function` is empty if it was not the cause."""

    at: datetime
    seconds: float
    cause: Cause
    function: str


class Round(NamedTuple):
    """The round of the loop that a look has seen. `frames` are those of its task, the innermost first."""

    began: float
    frames: list[FrameType]


@dataclass(slots=True)
class LongRound:
    """A round that was older than usual when a look saw it."""

    began: float
    facts: Mapping[str, object]  # of the turn or the request
    seen: Counter[str] = field(default_factory=Counter[str])
    stacks: dict[str, Frames] = field(default_factory=dict[str, Frames])
    paused: float = 0.0  # seconds in which neither the loop nor the looking thread ran
    collected: float = 0.0  # seconds of the collector
    logged: bool = False  # while it went on

    def cause(self, seconds: float, threshold: float) -> Cause:
        """Return why the round took so long. A function is the cause if it kept the loop too long by itself."""
        if seconds - self.paused - self.collected >= threshold:
            return "function"
        return "collector" if self.collected >= self.paused else "pause"


class StallWatch(Pace):
    """Finds and remembers the stalls of a loop. The watchdog's thread calls `look`, and the loop all other methods."""

    def __init__(
        self,
        threshold: float,
        record: Record,
        clock: Clock,
        pauses: CollectorPauses,
        turn: Callable[[], Mapping[str, object]] = dict,
    ) -> None:
        """Report stalls of at least `threshold` seconds; with 0, never look.

        `turn` returns the facts about the turn that runs now.
        """
        self.threshold = threshold
        self.counts = Counter[Cause]()
        self.longest = 0.0
        self._stalls = deque[Stall](maxlen=MOST_REMEMBERED)
        self._record, self._clock, self._pauses, self._turn = record, clock, pauses, turn
        self._since = clock.now()
        self._usual_pause = self._pause = usual_pause(threshold)
        self._time: Callable[[], float] | None = None  # the clock of Trio; None: it does not look yet
        self._run_loop: FrameType | None = None
        self._cpu_clock: int | None = None
        self._paused = self._collected_before = 0.0
        self._round: LongRound | None = None

    async def run(
        self, watchdog: Watchdog, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Run the watchdog, in whose thread this looks."""
        with self._pauses.measured():
            await watchdog.run(stopping, task_status=task_status)

    def begin(self) -> None:
        """Watch the calling thread from now on. The start of the server, which keeps the loop, is over."""
        if self.threshold:
            self._since, self._collected_before = self._clock.now(), self._pauses.total()
            self._cpu_clock = time.pthread_getcpuclockid(threading.get_ident())
            self._run_loop = run_loop_of(sys._getframe())  # pyright: ignore[reportPrivateUsage]  # documented, in spite of its name
            self._time = trio.lowlevel.current_clock().current_time

    def wait(self, ended: threading.Event) -> bool:
        """Wait until the next look. Return True if there is none, because `ended` is set.

        The time by which this thread wakes late and in which the loop's thread used no CPU, no thread of this process
        had a CPU.
        """
        began, cpu = time.perf_counter(), self._cpu()
        is_ended = ended.wait(self._pause)
        self._paused = max(time.perf_counter() - began - self._pause - (self._cpu() - cpu), 0.0)
        return is_ended

    def look(self, loop: int) -> None:
        """Look at the thread `loop`."""
        if self._time is None or self._run_loop is None:
            return
        paused, collected = self._paused, self._pauses.total() - self._collected_before
        self._collected_before += collected
        now, old = self._time(), self._round
        found = round_of(innermost_frame(loop)) if self._is_old(self._run_loop, now) else None
        if old is not None:
            old.paused += paused
            old.collected += collected
            if found is None or found.began != old.began:
                self._end(old, (now if found is None else found.began) - old.began)
                self._round = old = None
        if found is not None:
            if old is None:
                # A pause since the look before may have been before this round. At most the age of the round counts.
                most = now - found.began
                self._round = old = LongRound(found.began, self._facts(found), paused=min(paused, most))
                old.collected = min(collected, most)
            self._note(old, found, now - found.began)
        seconds = 0.0 if old is None else now - old.began
        self._pause = self._usual_pause if old is None else min(self._usual_pause, quick_pause(seconds))

    def last_day(self) -> JsonObject:
        """Return the stalls of the last day, for `troupe doctor`. They are lost at the end of the process."""
        begin = self._clock.now() - REMEMBERED_FOR
        stalls = [stall for stall in self._stalls.copy() if stall.at >= begin]
        return {
            "threshold": self.threshold, "since": max(self._since, begin).isoformat(),
            "stalls": [
                {"at": stall.at.isoformat(), "seconds": stall.seconds, "cause": stall.cause, "function": stall.function}
                for stall in stalls
            ],
        }  # fmt: skip

    def _is_old(self, run_loop: FrameType, now: float) -> bool:
        """True if the loop does not wait for I/O, and its round began a while ago."""
        return run_loop.f_back is not None and now - run_loop.f_locals.get(ROUND_BEGAN, now) >= self.threshold * OLD

    def _cpu(self) -> float:
        return 0.0 if self._cpu_clock is None else time.clock_gettime(self._cpu_clock)

    def _facts(self, found: Round) -> Mapping[str, object]:
        return self._turn() or {"request_id": request_in(found.frames)}

    def _note(self, old: LongRound, found: Round, seconds: float) -> None:
        function = described(next((frame for frame in found.frames if not is_library(frame)), found.frames[0]))
        if function in old.seen or len(old.seen) < MOST_FUNCTIONS:
            old.seen[function] += 1
            old.stacks[function] = [
                (frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_qualname)
                for frame in reversed(found.frames)
            ]
        if seconds >= GOES_ON and not old.logged:
            old.logged = True
            self._report(old, seconds, decision="it goes on")

    def _end(self, old: LongRound, seconds: float) -> None:
        if seconds < self.threshold:
            return
        cause, function = self._report(old, seconds)
        self.counts[cause] += 1
        self.longest = max(self.longest, seconds)
        self._stalls.append(Stall(self._clock.now(), round(seconds, 3), cause, function))

    def _report(self, old: LongRound, seconds: float, **more: str) -> tuple[Cause, str]:
        """Log a stall. Return its cause, and the function if it is the cause."""
        cause = old.cause(seconds, self.threshold)
        if cause == "function":
            ((function, _),) = old.seen.most_common(1)
            stack = "".join(traceback.StackSummary.from_list([(*line, None) for line in old.stacks[function]]).format())
            self._record("loop.stalled", seconds=round(seconds, 3), function=function, stack=stack, **old.facts, **more)
            return cause, function
        self._record("loop.stalled", seconds=round(seconds, 3), error=IN_WORDS[cause], **more)
        return cause, ""


def usual_pause(threshold: float) -> float:
    """Return the seconds between two looks: each stall is looked at between its being old and its being too long."""
    if not threshold:
        return LOOK_EVERY
    return max(LOOK_EVERY / math.ceil(LOOK_EVERY / (threshold * (1 - OLD))), LOOK_QUICKLY)


def quick_pause(seconds: float) -> float:
    """Return the seconds until the next look at a round that is so old."""
    return max(LOOK_QUICKLY, seconds / MOST_LOOKS)


def run_loop_of(frame: FrameType | None) -> FrameType | None:
    """Return the frame of Trio's run loop among the callers of a frame; None if there is none."""
    while frame is not None and not is_run_loop(frame):
        frame = frame.f_back
    return frame


def round_of(innermost: FrameType | None) -> Round | None:
    """Return the round that a thread is in; None if it waits for I/O, or runs no loop of Trio."""
    frames: list[FrameType] = []
    frame = innermost
    while frame is not None and not is_run_loop(frame):
        frames.append(frame)
        frame = frame.f_back
    if frame is None or not frames or frames[-1].f_code.co_name in BETWEEN_ROUNDS:
        return None
    began = frame.f_locals.get(ROUND_BEGAN)
    return None if began is None else Round(began, frames)


def is_run_loop(frame: FrameType) -> bool:
    return frame.f_code.co_name == RUN_LOOP[1] and frame.f_globals.get("__name__") == RUN_LOOP[0]


def is_library(frame: FrameType) -> bool:
    """True if a function is of Python's own library or of an installed package other than this."""
    if str(frame.f_globals.get("__name__")).partition(".")[0] in (PACKAGE, "__main__"):
        return False
    return frame.f_code.co_filename.startswith(LIBRARIES)


def described(frame: FrameType) -> str:
    """Return a function with its file and the line where it begins: equal stalls have equal texts."""
    code = frame.f_code
    return f"{code.co_qualname} ({code.co_filename.removeprefix(ROOT)}:{code.co_firstlineno})"


def request_in(frames: list[FrameType]) -> str | None:
    """Return the id of the request in progress: the functions that answer a request hold it in a variable."""
    for frame in frames:
        if "request" in frame.f_code.co_varnames:
            found = getattr(frame.f_locals.get("request"), "request_id", None)
            if isinstance(found, str):
                return found
    return None
