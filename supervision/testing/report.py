"""The report that a developer reads when a seed fails."""

from __future__ import annotations

import shlex
import traceback
from collections.abc import Sequence

from .scheduler import RUN_FAILED, Livelock
from .series import FailedSeed, PlayedSeed
from .shrink import switches
from .trace import cycle, readable

# The end of a trace is the important part; a shrunk run is seldom longer.
MOST_LINES = 150
# Of a run that does not end, the beginning says how it came to that.
FIRST_LINES = 100
OTHERS = ("/trio/", "/outcome/")  # packages whose frames say nothing about the scenario


def report(failure: FailedSeed, test: str, arguments: str = "", replay: Sequence[str] = ()) -> str:
    """Return seed, error, the command to replay it, and the shrunk run line by line.

    `arguments` are the test's, and `replay` is the command with the conditions of the failure.
    """
    return "\n".join([
        f"seed {failure.first.seed} with strategy {failure.first.strategy} fails: {summary(failure.first.error)}",
        *([f"The test's arguments: {arguments}"] if arguments else []),
        "",
        "Play it again:",
        *(f"    {line}" for line in replay or (replay_command(failure.first, test),)),
        f"Keep it when the bug is repaired: @simulation(pinned=[{pin(failure.first)}], …)",
        "",
        f"The smallest run found that fails alike ({size(failure.shrunk)}; at first {size(failure.first)}; "
        f"{failure.runs} runs tried):",
        *story(failure.shrunk),
        "",
        *traced(failure.shrunk.error),
    ])  # fmt: skip


def replay_command(played: PlayedSeed, test: str, hash_seed: str = "") -> str:
    """Return the command that plays exactly this run. `hash_seed` decides the order of sets of strings."""
    hashing = f"PYTHONHASHSEED={hash_seed} " if hash_seed else ""
    return (
        f"{hashing}TROUPE_SIM_SEED={played.seed} TROUPE_SIM_STRATEGY={played.strategy} "
        f"python -m pytest {shlex.quote(test)}"
    )


def pin(played: PlayedSeed) -> str:
    """Return the run as an entry of a scenario's `pinned`."""
    return f'({played.seed}, "{played.strategy}")'


def size(played: PlayedSeed) -> str:
    """Return the size of a run: the numbers that make it hard to read."""
    return f"{counted(switches(played), 'switch', 'es')}, {counted(len(played.struck), 'fault', 's')}"


def counted(number: int, noun: str, plural: str) -> str:
    return f"{number} {noun}{'' if number == 1 else plural}"


def summary(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}"


def story(played: PlayedSeed) -> list[str]:
    """Return the lines of a trace. Of a long trace, the last lines; of a trace that does not end, the first."""
    lines = readable(played.trace)
    if len(lines) <= MOST_LINES or not isinstance(played.error, Livelock):
        return [*left_out(len(lines) - MOST_LINES), *lines[-MOST_LINES:]]
    end = next((n for n, line in enumerate(lines) if f" {RUN_FAILED}: " in line), len(lines))
    begin, length = cycle(lines[:end])
    first = lines[: min(begin, FIRST_LINES)]
    again = lines[begin : begin + length] or lines[max(end + FIRST_LINES - MOST_LINES, FIRST_LINES) : end]
    times = counted((end - begin) // max(length, 1), "time", "s")
    return [
        *first,
        *left_out(begin - len(first) if length else end - len(first) - len(again)),
        *([f"    these {counted(length, 'line', 's')} again and again, {times}:"] if length else []),
        *again,
        *lines[end : end + 1],
    ]


def left_out(lines: int) -> list[str]:
    return [f"    … {counted(lines, 'line', 's')} left out"] if lines > 0 else []


def traced(error: BaseException | None) -> list[str]:
    """Return the traceback without Trio's own frames."""
    if error is None:
        return []
    story = traceback.TracebackException.from_exception(error)
    level: traceback.TracebackException | None = story
    while level is not None:
        ours = [frame for frame in level.stack if not any(package in frame.filename for package in OTHERS)]
        level.stack = traceback.StackSummary.from_list(ours)
        level = level.__cause__ or level.__context__
    return "".join(story.format()).rstrip().split("\n")
