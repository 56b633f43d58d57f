"""Times as pages show them: how long ago, with the full date as the title. All are UTC.

A page without scripts does not know the reader's time zone. What it says is true when it is made: no cache uses a page
without asking whether it is still the newest (`web/layout.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ...actors.rules.wording import number_of

MINUTE, HOUR, DAY, WEEK = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1), timedelta(days=7)


@dataclass(frozen=True, slots=True)
class ShownTime:
    """A time for programs and for people."""

    iso: str
    day: str
    full: str
    ago: str


def shown_time(value: datetime, now: datetime) -> ShownTime:
    """Return a time. `ago` is relative for a week, and then the date with the hour."""
    utc = value.astimezone(UTC)
    day, hour = f"{utc.day} {utc:%b %Y}", f"{utc:%H:%M}"
    return ShownTime(f"{utc:%Y-%m-%dT%H:%M:%SZ}", day, f"{day}, {hour} UTC", _ago(now - value) or f"{day}, {hour}")


def _ago(age: timedelta) -> str | None:
    """Return how long ago it was. None for what is older than a week, or still to come.

    A minute is allowed for clocks of other servers that are fast.
    """
    if -MINUTE <= age < MINUTE:
        return "just now"
    for unit, words, most in ((MINUTE, "minutes", HOUR), (HOUR, "hours", DAY), (DAY, "days", WEEK)):
        if timedelta() <= age < most:
            return f"{number_of(age // unit, words)} ago"
    return None
