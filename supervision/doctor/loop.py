"""The event loop of the running server: whether a function kept it, so that all clients waited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from ...storage.engine.json_values import JsonObject
from .findings import Examination, Finding

SUBJECT = "loop"
MOST_FUNCTIONS = 3  # that are named


def check_loop(examination: Examination) -> Iterator[Finding]:
    """Show the stalls that the running server remembers of the last day."""
    watched = examination.server.get("loop") if examination.server is not None else None
    if watched is not None:  # None: no server, or a server of an earlier version
        yield from evaluate(watched["threshold"], datetime.fromisoformat(watched["since"]), watched["stalls"])


def evaluate(threshold: float, since: datetime, stalls: Sequence[JsonObject]) -> Iterator[Finding]:
    """Yield the findings about the stalls since a time: one for each function, and one for all other causes."""
    if not threshold:
        yield Finding(SUBJECT, "note", "it is not watched: `loop_stall_warning` is 0")
        return
    start = f"{since:%Y-%m-%d %H:%M} UTC"
    functions = Counter(stall["function"] for stall in stalls if stall["function"])
    for function, _ in functions.most_common(MOST_FUNCTIONS):
        times = [stall for stall in stalls if stall["function"] == function]
        yield Finding(SUBJECT, "note", f"{function} kept all clients waiting {_in_words(times)} since {start}")
    if others := [stall for stall in stalls if not stall["function"]]:
        yield Finding(SUBJECT, "note", f"the garbage collector, or a busy machine, did so {_in_words(others)}")
    if not stalls:
        yield Finding(SUBJECT, "good", f"nothing kept it for {threshold:g} s or longer since {start}")


def _in_words(stalls: Sequence[JsonObject]) -> str:
    longest = max(stalls, key=lambda stall: stall["seconds"])
    at = datetime.fromisoformat(longest["at"])
    many = "once" if len(stalls) == 1 else f"{len(stalls)} times"
    return f"{many}, for {longest['seconds']:.2f} s at most ({at:%Y-%m-%d %H:%M} UTC)"
