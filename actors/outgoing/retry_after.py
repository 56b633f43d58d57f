"""The header `Retry-After` of answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

LONGEST_WAIT = timedelta(days=1)  # that another server may ask for


def time_of(retry_after: str | None, now: datetime) -> datetime | None:
    """Return the time that a `Retry-After` names, in seconds or as a date; None if it names none. It is bounded."""
    if retry_after is None:
        return None
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return now + min(timedelta(seconds=int(text[:9])), LONGEST_WAIT)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return min(max(at, now), now + LONGEST_WAIT)
