"""The page of figures: activity on each day, its origins, and the retention of users."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Concatenate, Literal, ParamSpec, TypeVar

import trio

from ...actors.kernel.clock import first_id_at
from ...actors.rules.roles import Permission
from ...storage.engine.database import Connection
from ...storage.upkeep import dashboard
from ..access.context import HttpContext
from ..answers.errors import HttpError
from ..intake.parameters import Choice, Input
from ..views import figures
from .member import StaffMember
from .staff_page import Facts, StaffPage

P = ParamSpec("P")
T = TypeVar("T")

FIGURES = StaffPage("/admin/figures", Permission.VIEW_DASHBOARD)
PATIENCE = 10.0  # seconds for all figures of a page; figures that are not counted by then are left out
SHOWN = 10  # values of a dimension
MONTHS = 6  # cohorts
MEASURES = {
    "new_users": "New users",
    "active_users": "Active users, added up over the days",
    "interactions": "Favourites, boosts and replies",
    "opened_reports": "Reports opened",
    "resolved_reports": "Reports resolved",
}
DIMENSIONS = {
    "servers": "Posts by server",
    "sources": "Sign-ups by app",
    "languages": "Sign-ups by language",
}


class ShownDays(Input):
    """The number of days, including today."""

    days: Annotated[Literal["7", "30", "90"], Choice] = "30"


@dataclass(frozen=True, slots=True)
class Measure:
    """A row of the first table. `daily` is None if it took too long to count."""

    words: str
    daily: Sequence[int] | None
    before: int = 0  # in as many days before

    @property
    def total(self) -> int:
        return sum(self.daily or ())

    @property
    def highest(self) -> int:
        return max(self.daily or (0,))


@dataclass(frozen=True, slots=True)
class Cohort:
    """The users who signed up in a month, and the percentage of active users in it and in each later month."""

    month: datetime
    size: int
    active: Sequence[int]


@dataclass
class Counting:
    """Counts the figures of a page, until a time limit."""

    context: HttpContext
    until: float  # of Trio's clock

    async def count(
        self, figure: Callable[Concatenate[Connection, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T | None:
        """Return a figure; None if it takes too long."""
        if trio.current_time() >= self.until:
            return None
        try:
            return await figures.counted(self.context, figure, *args, **kwargs)
        except HttpError:
            return None


@FIGURES.get("figures.html")
async def show(me: StaffMember, wanted: ShownDays) -> Facts:
    """Show the figures of the last days."""
    now, number = me.context.clock.now(), int(wanted.days)
    counting = Counting(me.context, trio.current_time() + PATIENCE)
    days = figures.days(now - timedelta(days=number - 1), now)
    return {
        "number": number,
        "days": days,
        "measures": [await _measure(counting, key, words, days) for key, words in MEASURES.items()],
        "dimensions": [(words, await _dimension(counting, key, days)) for key, words in DIMENSIONS.items()],
        "space": await _dimension(counting, "space_usage", days),
        "versions": await figures.versions(me.context),
        "cohorts": await _cohorts(counting, now),
    }


async def _measure(counting: Counting, key: str, words: str, days: list[datetime]) -> Measure:
    earlier = [day - timedelta(days=len(days)) for day in days]
    daily = await counting.count(dashboard.measure, key, figures.periods(days, figures.next_day))
    before = await counting.count(dashboard.measure, key, figures.periods(earlier, figures.next_day))
    return Measure(words, daily if before is not None else None, sum(before or ()))


async def _dimension(counting: Counting, key: str, days: list[datetime]) -> list[tuple[str, int]] | None:
    low, high = first_id_at(days[0]), first_id_at(figures.next_day(days[-1]))
    found = await counting.count(dashboard.dimension, key, low, high, SHOWN)
    here = counting.context.settings.local_domain
    return None if found is None else [(name or here, value) for name, value in found]


async def _cohorts(counting: Counting, now: datetime) -> list[Cohort] | None:
    """Return the cohorts of the last months, the oldest first."""
    months = [figures.beginning(now, monthly=True)]
    while len(months) < MONTHS:
        months.insert(0, figures.beginning(months[0] - timedelta(days=1), monthly=True))
    periods = figures.periods(months, figures.next_month)
    sizes = await counting.count(dashboard.new_users, periods)
    active = await counting.count(dashboard.retention, periods.low, periods.high)
    if sizes is None or active is None:
        return None
    return [
        Cohort(month, size, [round(100 * active.get((cohort, later), 0) / size) for later in range(cohort, MONTHS)])
        for cohort, (month, size) in enumerate(zip(months, sizes, strict=True))
        if size
    ]
