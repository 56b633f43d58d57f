"""What all measures share: a running server, the database that it serves, and how a row is measured."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from troupe.supervision.commands.running_server import ask

from .fill import Size
from .filled import Filled
from .load import Caller, Outcome
from .processes import Processes, Watch
from .samples import Row, Sample

IDLE_SHARE = 0.05  # of a core: less than this is nothing to do
# Until what the answer did not wait for is done as well: effects that are handed over, PostgreSQL's own writing.
SETTLING = 1.0
LOOKS = 20  # while the waits of others are measured
LOOKS_A_SECOND = 30
PATIENCE = 60.0  # seconds in which the server becomes idle


@dataclass(frozen=True, slots=True)
class Bench:
    """A running server, and what its database holds."""

    port: int
    processes: Processes
    size: Size
    filled: Filled
    runs: int  # of a row
    seconds: float  # of a run
    control: Path  # the socket of the server's local owner

    def row(
        self, name: str, work: Callable[[], Outcome], *, state: str = "", settles: bool = False,
        before: Callable[[], object] = lambda: None,
    ) -> Row:  # fmt: skip
        """Measure the work in some runs. `before` each of them there is something to check or to prepare."""
        samples: list[Sample] = []
        for _ in range(self.runs):
            before()
            samples.append(self._sample(work, settles))
        return Row(name, samples, state)

    def _sample(self, work: Callable[[], Outcome], settles: bool) -> Sample:
        watch = Watch(self.processes)
        outcome = work()
        if settles:
            time.sleep(self.settling)
        used, others = watch.since(self.processes)
        each = 1000 / outcome.count
        return Sample(
            used.server * each, used.postgres * each, outcome.count / outcome.seconds, outcome.p50 * 1000,
            outcome.p99 * 1000, others,
        )  # fmt: skip

    @property
    def settling(self) -> float:
        """Seconds to wait after a run: fewer in a quick look."""
        return min(SETTLING, self.seconds)

    @property
    def looks(self) -> int:
        """The number of looks while the waits of others are measured: fewer in a quick look."""
        return min(LOOKS, math.ceil(LOOKS_A_SECOND * self.seconds))

    def calm(self) -> None:
        """Wait until the server has nothing to do."""
        until = time.monotonic() + PATIENCE
        before, now = -1.0, 0.0
        while now - before > IDLE_SHARE * self.settling:
            assert time.monotonic() < until, "the server does not become idle"
            time.sleep(self.settling)
            before, now = now, self.processes.used().server

    def awake_homes(self) -> int:
        """The number of home timelines that are in the server's memory."""
        answer = ask(self.control, "top")
        assert answer is not None, "the server has no control socket"
        return next(kind["awake"] for kind in answer["kinds"] if kind["kind"] == "home")

    def ask(self, request: bytes) -> bytes:
        """The body of the answer to one request."""
        return self.ask_all([request])[0]

    def ask_all(self, requests: list[bytes]) -> list[bytes]:
        caller = Caller(self.port)
        bodies = [caller.call(one) for one in requests]
        caller.close()
        return bodies


def lasting(seconds: float) -> Callable[[int, float], bool]:
    """Return the condition that so many seconds have passed, for `press`."""
    return lambda _, passed: passed >= seconds
