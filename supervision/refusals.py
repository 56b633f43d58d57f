"""Refusals of PostgreSQL and their causes, for the log and for `troupe tree`."""

from __future__ import annotations

from datetime import datetime

import trio

from ..actors.kernel import Clock, Record
from ..storage.engine.faults import machine_fault

REPORT_AGAIN = 60.0  # seconds between two records of the same cause
RECENT = 60.0  # seconds for which `troupe doctor` reports a refusal
CALM = 10.0  # seconds without a refusal after which a commit means that the fault is over


class Refusals:
    """The refusals since the last fault began. Each cause is logged once a minute at most."""

    def __init__(self, record: Record, clock: Clock) -> None:
        self._record = record
        self._clock = clock
        self._cause = ""  # of the last refusal; empty without a fault
        self._since: datetime | None = None
        self._count = 0
        self._refused_at = 0.0
        # By cause: the time of its last record, and the number of refusals since then.
        self._reported: dict[str, tuple[float, int]] = {}

    def refused(self, error: Exception) -> None:
        """Count a refused call."""
        now, cause = trio.current_time(), machine_fault(error) or type(error).__name__
        self._since = self._since or self._clock.now()
        self._cause, self._refused_at = cause, now
        self._count += 1
        reported_at, unreported = self._reported.get(cause, (-REPORT_AGAIN, 0))
        if now - reported_at < REPORT_AGAIN:
            self._reported[cause] = reported_at, unreported + 1
            return
        self._reported[cause] = now, 0
        text = str(error.__cause__ or error).partition("\n")[0]  # PostgreSQL's hints follow on lines of their own
        self._record(
            "storage.refused", child="storage", error=cause if text in ("", cause) else f"{cause}: {text}",
            decision="503",
            count=unreported + 1 if unreported else None,
        )  # fmt: skip

    def committed(self) -> None:
        """Note a commit.

        A small transaction may find room on a full disk, so a time without refusals is needed as well.
        """
        if self._cause and trio.current_time() - self._refused_at >= CALM:
            self._record("storage.accepted", child="storage", error=self._cause, count=self._count)
            self._cause, self._since, self._count = "", None, 0
            self._reported.clear()

    def inspect(self) -> dict[str, object]:
        """Return the current fault for operators; empty without a fault."""
        if self._since is None:
            return {}
        ago = trio.current_time() - self._refused_at
        since = f"{self._since:%Y-%m-%dT%H:%M:%SZ}"
        calls = "1 call" if self._count == 1 else f"{self._count} calls"
        return {"refusing": f"{self._cause} since {since}, {calls}, the last {ago:.0f} s ago"}

    def of_the_last_minute(self) -> str:
        """Return the current fault for `troupe doctor`; empty if no call was refused in the last minute."""
        return str(self.inspect().get("refusing", "")) if trio.current_time() - self._refused_at < RECENT else ""
