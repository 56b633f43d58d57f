"""Figures for staff, over days or months, for the API and the dashboard page. Counting has a time limit."""

from __future__ import annotations

import platform
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Concatenate, ParamSpec, TypeVar

from ... import __version__
from ...actors.kernel.clock import first_id_at
from ...storage.engine.database import Connection
from ...storage.upkeep import dashboard
from ...storage.upkeep.dashboard import CountTookTooLong, Periods
from ..access.context import HttpContext
from ..answers.errors import invalid

P = ParamSpec("P")
T = TypeVar("T")

MOST_DAYS = 366


async def counted(
    context: HttpContext, count: Callable[Concatenate[Connection, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Return a figure. Raises 422 if counting takes too long."""
    try:
        return await context.database.transact(dashboard.in_time, count, *args, **kwargs)
    except CountTookTooLong:
        raise invalid("Dates are too far apart to count this in time") from None


async def versions(context: HttpContext) -> list[tuple[str, str, str]]:
    """Return the key, the name and the version of Troupe, Python and PostgreSQL."""
    postgres = await context.database.read(lambda db: db.fetchval("SHOW server_version"))
    return [
        ("troupe", "Troupe", __version__),
        ("python", "Python", platform.python_version()),
        ("postgresql", "PostgreSQL", str(postgres).partition(" ")[0]),
    ]


def days(start: datetime, end: datetime) -> list[datetime]:
    """Return the beginnings of the days from one time to another. Raises 422 for more than a year."""
    return beginnings(beginning(start, monthly=False), end, next_day, MOST_DAYS)


def beginnings(start: datetime, end: datetime, following: Callable[[datetime], datetime], most: int) -> list[datetime]:
    """Return the beginnings of the periods from one time to another. Raises 422 for too many."""
    begins: list[datetime] = []
    while start <= end:
        if len(begins) == most:
            raise invalid(f"Dates are too far apart (maximum is {most} periods)")
        begins.append(start)
        start = following(start)
    return begins


def beginning(time: datetime, *, monthly: bool) -> datetime:
    """Return the beginning of the day, or of the month, of a time."""
    day = time.replace(hour=0, minute=0, second=0, microsecond=0)
    return day.replace(day=1) if monthly else day


def next_day(time: datetime) -> datetime:
    return time + timedelta(days=1)


def next_month(time: datetime) -> datetime:
    return (time.replace(day=1) + timedelta(days=32)).replace(day=1)


def periods(begins: list[datetime], following: Callable[[datetime], datetime]) -> Periods:
    """Return the periods that begin at these times, and end where the following periods begin."""
    ends = [following(begin) for begin in begins]
    return Periods(list(map(first_id_at, begins)), list(map(first_id_at, ends)), begins, ends)
