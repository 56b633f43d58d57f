"""The clock: against that of the database, and whether it is kept right."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from ...actors.kernel.clock import instant_of_id
from ...storage.engine.connect import transact_once
from ...storage.engine.database import StorageError
from ...storage.engine.server_facts import server_time
from ...storage.upkeep.highest import highest_id
from .findings import Examination, Finding

SUBJECT = "clock"
MOST = timedelta(seconds=5)
MOST_AHEAD = timedelta(hours=1)  # of an id; a burst of posts is ahead by less
SYNCHRONISE = "Turn on time synchronisation on both machines: timedatectl set-ntp true."
TIMEDATECTL = ("timedatectl", "show", "--property=NTPSynchronized", "--value")
PATIENCE = 5.0  # seconds


def check_clock(examination: Examination) -> Iterator[Finding]:
    """Compare the clocks, and ask systemd if the clock of this machine is synchronised."""
    if examination.dsn is not None:
        yield from _against_database(examination.dsn)
    yield _synchronised()


def evaluate(before: datetime, there: datetime, after: datetime) -> Finding:
    """Return the finding about the database's time, which was read between two times of this machine."""
    apart = max(before - there, there - after, timedelta(0))
    if apart > MOST:
        return Finding(
            SUBJECT, "wrong", f"the database's clock differs by {apart.total_seconds():.0f} s: rows and log disagree",
            SYNCHRONISE,
        )  # fmt: skip
    return Finding(SUBJECT, "good", "the database has the same time")


def judge_ids(newest: datetime, now: datetime) -> Iterator[Finding]:
    """Yield a finding if the newest id is of a future time: ids never go back, so new ones are ahead too."""
    ahead = newest - now
    if ahead > MOST_AHEAD:
        when = f"{ahead.days} days" if ahead.days else f"{ahead.seconds // 3600} hours"
        yield Finding(
            SUBJECT, "note", f"the clock was ahead once: ids go on from {newest:%Y-%m-%d}, {when} from now. They sort"
            " rightly, and posts have their own times; clients that read times from ids show wrong ones",
        )  # fmt: skip


def _against_database(dsn: str) -> Iterator[Finding]:
    try:
        before = datetime.now(UTC)
        there = transact_once(dsn, server_time)
        yield evaluate(before, there, datetime.now(UTC))
        yield from judge_ids(instant_of_id(transact_once(dsn, highest_id)), datetime.now(UTC))
    except StorageError:
        return  # the check of the database says so


def _synchronised() -> Finding:
    try:
        asked = subprocess.run(TIMEDATECTL, capture_output=True, text=True, timeout=PATIENCE, check=True)  # noqa: S603 - constants
    except (OSError, subprocess.SubprocessError):
        return Finding(
            SUBJECT, "note", "systemd does not say if this clock is synchronised; a clock that is minutes wrong breaks"
            " two-factor codes and requests of other servers",
        )  # fmt: skip
    if asked.stdout.strip() == "no":
        return Finding(SUBJECT, "wrong", "systemd says that this clock is not synchronised", SYNCHRONISE)
    return Finding(SUBJECT, "good", "synchronised, as systemd says")
