"""CPU of a function, in milliseconds of the machine that the bound was measured on.

A busy or slower machine takes longer for everything. So each measurement is divided by that of a fixed piece of work in
the same run, whose time on the reference machine is known.
"""

import re
import time
from collections.abc import Callable

LOOP_MILLISECONDS = 50.0  # the longest that one input may keep the loop
YARDSTICK_MILLISECONDS = 2.0  # of `_work` on the machine that the bound is for (AMD EPYC of 2025, Python 3.11)
TRIES = 4


def milliseconds(function: Callable[[], object], enough: float = LOOP_MILLISECONDS / 2) -> float:
    """Return the least CPU of some tries; of the first one alone if it stays below `enough`."""
    best = float("inf")
    for _ in range(TRIES):
        used = _seconds(function) / _seconds(_work) * YARDSTICK_MILLISECONDS
        best = min(best, used)
        if best < enough:
            break
    return best


def _seconds(function: Callable[[], object]) -> float:
    before = time.thread_time()
    function()
    return time.thread_time() - before


def _work() -> int:
    """Calls, characters and patterns, as the readers of texts have them."""
    text = "a<b>c&d " * 8_000
    tags = re.sub(r"<[^>]*>", lambda tag: tag[0].upper(), text)
    return len(tags.replace("&", "&amp;")) + sum(ord(character) for character in text)
