"""Deterministic concurrency tests: a seed decides which task runs next, when time passes, and which faults happen.

    @simulation(seeds=200, faults=2)
    async def test_two_devices(sim: Run) -> None:
        sim.always(lambda: counted() <= posted())
        async with sim.together() as go:
            go(phone.post, "hello")
            go(laptop.post, "world")

This package knows nothing of Troupe; `stage` adds Troupe's actors, database and API. A failing seed is printed with the
command that replays it and with the smallest run that fails alike.
"""

from .bus import SimulatedBus
from .decorator import bare, simulation, sweep
from .faults import Budget, Fault, Faults, Injected, Planned, Point, never
from .isolation import NotSimulated
from .lockstep import Lockstep, LockstepDatabase
from .outcome import Outcome, explore, simulate
from .run import Broken, Run, VirtualClock
from .scheduler import Deadlock, Livelock, Scheduler
from .series import DoesNotReplay, FailedSeed, Series
from .strategies import Pct, RandomWalk, Replay, Strategy

__all__ = [
    "Broken", "Budget", "Deadlock", "DoesNotReplay", "FailedSeed", "Fault", "Faults", "Injected", "Livelock",
    "Lockstep", "LockstepDatabase", "NotSimulated", "Outcome", "Pct", "Planned", "Point", "RandomWalk", "Replay", "Run",
    "Scheduler", "Series", "SimulatedBus", "Strategy", "VirtualClock", "bare", "explore", "never", "simulate",
    "simulation", "sweep",
]  # fmt: skip
