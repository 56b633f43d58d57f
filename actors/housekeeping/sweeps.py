"""The counts of what one sweep of expired rows or unused files has removed, for one record in the supervision log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def counted(report: Callable[[str], None]) -> Generator[Counter[str]]:
    """Count by kind what the block removes, and report it in words at the end, also if the block fails.

    Nothing is reported if nothing was removed.
    """
    counts = Counter[str]()
    try:
        yield counts
    finally:
        if some := [f"{count} {kind}" for kind, count in counts.items() if count]:
            report(f"removed {', '.join(some)}")
