"""Strategies, which choose the next of several runnable tasks: a seed in, a sequence of choices out.

A strategy gets the names of the tasks that can go on. Option 0 is to stay with the task that ran last, if it can go on.
So a list of zeros is the calmest schedule, and a failing list is made readable by turning its numbers to zero. When
time is a choice, the last option is `CLOCK`: jump to the next deadline although a task could still run.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol

CLOCK = "<clock>"

# How often a random strategy lets time pass while tasks could run. At every second choice each deadline would pass
# before any work is done; at one in a thousand a race against a deadline would never be seen.
TIME_PASSES = 1 / 24

# A task that checkpoints in a loop while it waits for a less important one would spin until the step limit, so Pct
# demotes a task that was chosen this often in a row.
LONGEST_RUN = 250


class Strategy(Protocol):
    """Chooses at every step."""

    def choose(self, names: Sequence[str]) -> int:
        """The index of the option to take; `names` holds at least two."""
        ...


class RandomWalk:
    """Every runnable task is equally likely at every step."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"walk/{seed}")

    def choose(self, names: Sequence[str]) -> int:
        if names[-1] == CLOCK:
            if self._random.random() < TIME_PASSES:
                return len(names) - 1
            names = names[:-1]
        return self._random.randrange(len(names))


class Pct:
    """Probabilistic concurrency testing (Burckhardt and others, ASPLOS 2010).

    Every task gets a random priority and the highest runs, except that at `depth - 1` random steps the running task
    falls to the bottom. A bug that needs `depth` ordering points among n tasks in k steps is found by one seed with a
    probability of at least 1 / (n * k ** (depth - 1)), for any time that a task must be starved. A random walk starves
    no task.
    """

    def __init__(self, seed: int, *, steps: int, depth: int = 3) -> None:
        self._random = random.Random(f"pct/{seed}")
        self._demotions = {self._random.randrange(max(steps, 1)) for _ in range(depth - 1)}
        self._priorities: dict[str, float] = {}
        self._bottom = 0.0
        self._step = -1
        self._last = ""
        self._in_a_row = 0

    def choose(self, names: Sequence[str]) -> int:
        self._step += 1
        if names[-1] == CLOCK:
            if self._random.random() < TIME_PASSES:
                return len(names) - 1
            names = names[:-1]
        best = self._highest(names)
        self._in_a_row = self._in_a_row + 1 if names[best] == self._last else 1
        self._last = names[best]
        if self._step in self._demotions or self._in_a_row > LONGEST_RUN:
            self._demote(names[best])
            best = self._highest(names)
        return best

    def _highest(self, names: Sequence[str]) -> int:
        for name in names:
            if name not in self._priorities:
                self._priorities[name] = self._random.random()
        return max(range(len(names)), key=lambda index: self._priorities[names[index]])

    def _demote(self, name: str) -> None:
        self._bottom -= 1
        self._priorities[name] = self._bottom
        self._in_a_row = 0


class Replay:
    """Follows recorded choices, then stays with the running task.

    A choice that no longer exists counts as 0, so a shortened list is still a valid schedule.
    """

    def __init__(self, choices: Sequence[int] = ()) -> None:
        self._choices = list(choices)
        self._step = -1

    def choose(self, names: Sequence[str]) -> int:
        self._step += 1
        if self._step >= len(self._choices):
            return 0
        choice = self._choices[self._step]
        return choice if choice < len(names) else 0
