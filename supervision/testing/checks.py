"""The claims of a scenario.

always       holds after every step of every run
eventually   holds at some time after the scenario's last line
sometimes    was true in at least one run of the series: it shows that the seeds reach the interesting schedules
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import trio

# Virtual seconds between two checks of an `eventually` that does not hold yet.
LOOK_AGAIN = 0.25

Predicate = Callable[[], bool | None]


class Broken(AssertionError):
    """Raised when a claim of the scenario does not hold."""


class Sometimes:
    """The `sometimes` claims of a series of runs, and those that came true."""

    def __init__(self) -> None:
        self._seen: dict[str, bool] = {}

    def record(self, name: str, happened: bool) -> None:
        self._seen[name] = self._seen.get(name, False) or happened

    @property
    def never(self) -> list[str]:
        """Return the claims that no run has shown."""
        return [name for name, happened in self._seen.items() if not happened]


@dataclass(frozen=True, slots=True)
class Eventually:
    """A claim about the end, and the virtual seconds in which it must come true."""

    predicate: Predicate
    name: str
    within: float

    async def wait_until_true(self) -> None:
        deadline = trio.current_time() + self.within
        while self.predicate() is False:
            if trio.current_time() >= deadline:
                raise Broken(f"not true within {self.within:g} s of the end: {self.name}")
            await trio.sleep(LOOK_AGAIN)


def asserting(predicate: Predicate, name: str) -> Callable[[], None]:
    """Return a predicate that raises in place of returning False."""

    def check() -> None:
        if predicate() is False:
            raise Broken(f"not always true: {name}")

    return check


def name_of(predicate: Predicate) -> str:
    """Return a function's name, or the place of a lambda, which has none."""
    name = getattr(predicate, "__name__", repr(type(predicate)))
    if name != "<lambda>":
        return name
    code = inspect.unwrap(predicate).__code__
    return f"the condition at {code.co_filename.rsplit('/', 1)[-1]}:{code.co_firstlineno}"
