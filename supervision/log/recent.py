"""The newest records of the supervision log, held in memory for the pages of staff."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from ...http.access.operations import LogRecord, TreePart
from .redaction import redacted

# Some MB at most. A busy day of a healthy server writes fewer.
MOST = 5_000


class RecentRecords:
    """A ring of records, also of records that are folded in the written log. Safe to fill from any thread."""

    def __init__(self, most: int = MOST) -> None:
        self._records: deque[LogRecord] = deque(maxlen=most)
        self._count = 0

    def add(self, time: datetime, level: str, event: str, facts: Mapping[str, object]) -> None:
        """Add a record. The log calls this with its lock held."""
        self._count += 1
        self._records.append(LogRecord(self._count, time, level, event, facts))

    def newest(self) -> Sequence[LogRecord]:
        """Return all records that are held, the oldest first."""
        return self._records.copy()


class Operations:
    """The facts about the running server for the pages of staff."""

    def __init__(self, recent: RecentRecords, snapshot: Callable[[], TreePart]) -> None:
        self._recent = recent
        self._snapshot = snapshot

    def tree(self) -> TreePart:
        return self._snapshot()

    def records(self) -> Sequence[LogRecord]:
        return self._recent.newest()

    def without_texts(self, text: str) -> str:
        return redacted(text)
