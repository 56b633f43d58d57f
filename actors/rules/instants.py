"""Times that people and other servers write, within the centuries that they can mean."""

from __future__ import annotations

from datetime import UTC, datetime

# The driver stores Python's first and last instant as infinities, and returns these without a time zone: each page that
# showed one would fail.
FIRST, LAST = datetime(1900, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def instant_of(text: str) -> datetime | None:
    """Return a time in ISO 8601, in UTC where it has no offset. None if it is none that can be meant."""
    try:
        written = datetime.fromisoformat(text.strip())
        instant = written.replace(tzinfo=UTC) if written.tzinfo is None else written.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return instant if FIRST <= instant < LAST else None
