"""The open pages for staff that are kept current."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from ..answers.errors import TooMany

# Of one user. A person has few windows, and each costs queries while it is open.
MOST_OPEN = 8


class LivePages:
    """Counts them for each user."""

    def __init__(self) -> None:
        self._open: Counter[int] = Counter()

    def check(self, account_id: int) -> None:
        """Raise TooMany if the user has as many as one may have."""
        if self._open[account_id] >= MOST_OPEN:
            raise TooMany(text="Too many pages are kept current at once")

    @contextmanager
    def opened(self, account_id: int) -> Generator[None]:
        """Count a page inside of the block."""
        self._open[account_id] += 1
        try:
            yield
        finally:
            self._open[account_id] -= 1
            if not self._open[account_id]:
                del self._open[account_id]
