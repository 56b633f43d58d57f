"""Admin::Measure, Admin::Dimension, Admin::Cohort."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from .times import instant


def measure_fields(
    key: str, days: Sequence[datetime], numbers: Sequence[int], total: int, previous: int, unit: str | None
) -> dict[str, object]:
    """Return a measure: its number on each day, its total, and that of the same number of days before."""
    return {
        "key": key,
        "unit": unit,
        "total": str(total),
        "previous_total": str(previous),
        "data": [{"date": instant(day), "value": str(number)} for day, number in zip(days, numbers, strict=True)],
    }


def dimension_fields(key: str, data: Sequence[tuple[str, str, str]], unit: str | None = None) -> dict[str, object]:
    """Return a dimension. Each part has its key, its name for people, and its value."""
    more = {} if unit is None else {"unit": unit}
    return {"key": key, "data": [{"key": one, "human_key": name, "value": value} | more for one, name, value in data]}


def cohort_fields(
    begins: datetime, frequency: str, periods: Sequence[datetime], active: Sequence[int], size: int
) -> dict[str, object]:
    """Return the users who signed up in a period, with how many were active in it and in each later one."""
    return {
        "period": instant(begins),
        "frequency": frequency,
        "data": [
            {"date": instant(date), "rate": number / size if size else 0.0, "value": str(number)}
            for date, number in zip(periods, active, strict=True)
        ],
    }
