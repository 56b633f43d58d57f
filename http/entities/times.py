"""Times in the API's format."""

from __future__ import annotations

from datetime import UTC, datetime


def instant(value: datetime) -> str:
    """Return a time as `2026-11-21T09:05:00.123Z`."""
    # Pages have many of these, and `strftime` takes twice as long.
    return value.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def maybe_instant(value: datetime | None) -> str | None:
    return None if value is None else instant(value)


def midnight(value: datetime) -> str:
    """Return the beginning of a time's day, in the format of `instant`."""
    return f"{value.astimezone(UTC):%Y-%m-%d}T00:00:00.000Z"


def day(value: datetime | None) -> str | None:
    return None if value is None else f"{value.astimezone(UTC):%Y-%m-%d}"
