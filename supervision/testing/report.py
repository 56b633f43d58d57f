"""The report that a developer reads when a seed fails."""

from __future__ import annotations

import shlex
import traceback

from .series import FailedSeed, PlayedSeed
from .shrink import switches
from .trace import readable

# The end of a trace is the important part; a shrunk run is seldom longer.
MOST_LINES = 150


def report(failure: FailedSeed, test: str) -> str:
    """Return seed, error, the command to replay it, and the shrunk run line by line."""
    return "\n".join([
        f"seed {failure.first.seed} with strategy {failure.first.strategy} fails: {summary(failure.first.error)}",
        "",
        "Play it again:",
        f"    {replay_command(failure.first, test)}",
        f"Keep it when the bug is repaired: @simulation(pinned=[{pin(failure.first)}], …)",
        "",
        f"The smallest run found that fails alike ({size(failure.shrunk)}; at first {size(failure.first)}; "
        f"{failure.runs} runs tried):",
        *tail(readable(failure.shrunk.trace)),
        "",
        *traced(failure.shrunk.error),
    ])  # fmt: skip


def replay_command(played: PlayedSeed, test: str) -> str:
    """Return the command that plays exactly this run."""
    return f"TROUPE_SIM_SEED={played.seed} TROUPE_SIM_STRATEGY={played.strategy} python -m pytest {shlex.quote(test)}"


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


def tail(lines: list[str]) -> list[str]:
    """Return the last lines, with a note of how many were left out."""
    cut = len(lines) - MOST_LINES
    return lines if cut <= 0 else [f"    … {cut} lines before", *lines[cut:]]


def traced(error: BaseException | None) -> list[str]:
    """Return the traceback without Trio's own frames."""
    if error is None:
        return []
    story = traceback.TracebackException.from_exception(error)
    level: traceback.TracebackException | None = story
    while level is not None:
        level.stack = traceback.StackSummary.from_list([f for f in level.stack if "/trio/" not in f.filename])
        level = level.__cause__ or level.__context__
    return "".join(story.format()).rstrip().split("\n")
