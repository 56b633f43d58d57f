"""Times on pages: the age, with the full date as the title, in UTC.

A page without scripts does not know the reader's time zone. An age is true when the page is made, and caches revalidate
a page before each use (`web/layout.py`).
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
    """Return the age in words; None after a week, and for times in the future.

    Times up to a minute in the future are "just now", because clocks of other servers may be fast.
    """
    if -MINUTE <= age < MINUTE:
        return "just now"
    for unit, words, most in ((MINUTE, "minutes", HOUR), (HOUR, "hours", DAY), (DAY, "days", WEEK)):
        if timedelta() <= age < most:
            return f"{number_of(age // unit, words)} ago"
    return None
