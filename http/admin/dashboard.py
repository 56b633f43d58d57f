"""Figures for staff: measures by day, dimensions, and the retention of users."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from ...actors.kernel.clock import first_id_at
from ...actors.rules.identity import domain_of
from ...actors.rules.instants import printed_instant
from ...actors.rules.roles import Permission
from ...storage.upkeep import dashboard
from ...storage.upkeep.dashboard import (
    DIMENSIONS,
    DIMENSIONS_OF_DOMAIN,
    DIMENSIONS_OF_TAG,
    OF_DOMAIN,
    OF_SERVER,
    OF_TAG,
)
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..answers.errors import invalid
from ..entities.admin import cohort_fields, dimension_fields, measure_fields
from ..intake.paging import clamp
from ..intake.parameters import Choice, Count, Input, Maybe, Several, StatusId, Text, as_time
from ..router import api
from ..views import figures

READ = ("admin:read",)
MANAGE = Permission.VIEW_DASHBOARD
MOST_FIGURES = 1000  # days of all measures of a request together
MOST_COHORTS = 62
MOST_KEYS = 20
SHOWN = 10  # values of a dimension, unless the request has a limit
UNITS = {"instance_media_attachments": "bytes"}
VERSIONS = "software_versions"
EARLIEST, LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
# The keys that need a hashtag or another server.
MEASURES_ABOUT = frozenset({*OF_TAG, *OF_DOMAIN})
DIMENSIONS_ABOUT = frozenset({*DIMENSIONS_OF_TAG, *DIMENSIONS_OF_DOMAIN})


def _time(value: object) -> datetime:
    """Return a time in ISO 8601, within the centuries that ids can represent."""
    found = printed_instant(as_time(str(value)))
    if found is None or not EARLIEST <= found <= LATEST:
        raise PydanticCustomError("invalid", "is invalid")
    return found


Time = Annotated[datetime, BeforeValidator(_time)]
Keys = Annotated[tuple[Text, ...], Several, AfterValidator(lambda keys: tuple(dict.fromkeys(keys))[:MOST_KEYS])]


class AboutTag(Input):
    id: StatusId = None


class AboutDomain(Input):
    domain: Text = ""


TagPart = Annotated[AboutTag | None, Maybe]
DomainPart = Annotated[AboutDomain | None, Maybe]


class FigureQuery(Input):
    """The keys, and the hashtag or the server for keys that need it."""

    keys: Keys
    tag_accounts: TagPart = None
    tag_uses: TagPart = None
    tag_servers: TagPart = None
    tag_languages: TagPart = None
    instance_accounts: DomainPart = None
    instance_media_attachments: DomainPart = None
    instance_reports: DomainPart = None
    instance_statuses: DomainPart = None
    instance_follows: DomainPart = None
    instance_followers: DomainPart = None
    instance_languages: DomainPart = None

    def about(self, key: str) -> int | str | None:
        """Return the id of the hashtag or the domain for a key; None if it is not given."""
        part: AboutTag | AboutDomain | None = getattr(self, key, None)
        if isinstance(part, AboutTag):
            return part.id
        return domain_of(part.domain) if part is not None else None


class MeasureQuery(FigureQuery):
    start_at: Time
    end_at: Time


class DimensionQuery(FigureQuery):
    start_at: Annotated[Time | None, Maybe] = None
    end_at: Annotated[Time | None, Maybe] = None
    limit: Count = None


class RetentionQuery(Input):
    start_at: Annotated[Time | None, Maybe] = None
    end_at: Annotated[Time | None, Maybe] = None
    frequency: Annotated[Literal["day", "month"], Choice] = Field(default="day")


@api.post("/api/v1/admin/measures", auth="user", scopes=READ, permission=MANAGE, returns="[Admin.Measure]")
async def show_measures(context: HttpContext, wanted: MeasureQuery) -> Answer:
    """Measures for each day from `start_at` to `end_at`. Unknown keys and keys without their subject are left out."""
    days = figures.days(wanted.start_at, wanted.end_at)
    before = [day - timedelta(days=len(days)) for day in days]
    keys = [key for key in wanted.keys if key in OF_SERVER or (key in MEASURES_ABOUT and wanted.about(key) is not None)]
    if len(keys) * len(days) > MOST_FIGURES:
        raise invalid(f"Keys are too many for these dates (maximum is {MOST_FIGURES} days of all keys together)")
    found: list[dict[str, object]] = []
    for key in keys:
        about = wanted.about(key)
        now = await figures.counted(context, dashboard.measure, key, figures.periods(days, figures.next_day), about)
        earlier = await figures.counted(
            context, dashboard.measure, key, figures.periods(before, figures.next_day), about
        )
        found.append(measure_fields(key, days, now, sum(now), sum(earlier), UNITS.get(key)))
    return json(found)


@api.post("/api/v1/admin/dimensions", auth="user", scopes=READ, permission=MANAGE, returns="[Admin.Dimension]")
async def show_dimensions(context: HttpContext, wanted: DimensionQuery) -> Answer:
    """Dimensions over a time, which defaults to the last month."""
    end = wanted.end_at or context.clock.now()
    start = wanted.start_at or end - timedelta(days=30)
    if end - start > timedelta(days=figures.MOST_DAYS):
        raise invalid(f"Dates are too far apart (maximum is {figures.MOST_DAYS} days)")
    low, high = first_id_at(start), first_id_at(end + timedelta(days=1))
    limit = clamp(wanted.limit, SHOWN, 100)
    found: list[dict[str, object]] = []
    for key in wanted.keys:
        about = wanted.about(key)
        if key == VERSIONS:
            found.append(dimension_fields(key, await figures.versions(context)))
        elif key in DIMENSIONS or (key in DIMENSIONS_ABOUT and about is not None):
            rows = await figures.counted(context, dashboard.dimension, key, low, high, limit, about)
            here = context.settings.local_domain
            named = [(name or here, name or here, str(value)) for name, value in rows]
            found.append(dimension_fields(key, named, "bytes" if key == "space_usage" else None))
    return json(found)


@api.post("/api/v1/admin/retention", auth="user", scopes=READ, permission=MANAGE, returns="[Admin.Cohort]")
async def show_retention(context: HttpContext, wanted: RetentionQuery) -> Answer:
    """For the users who signed up in each day or month: the numbers of active users in it and in later periods."""
    if wanted.start_at is None or wanted.end_at is None:
        return json([])
    monthly = wanted.frequency == "month"
    following = figures.next_month if monthly else figures.next_day
    begins = figures.beginnings(
        figures.beginning(wanted.start_at, monthly=monthly), wanted.end_at, following, MOST_COHORTS
    )
    periods = figures.periods(begins, following)
    sizes = await figures.counted(context, dashboard.new_users, periods)
    active = await figures.counted(context, dashboard.retention, periods.low, periods.high)
    return json(
        [
            cohort_fields(
                begin, wanted.frequency, begins[cohort:],
                [active.get((cohort, period), 0) for period in range(cohort, len(begins))], sizes[cohort],
            )
            for cohort, begin in enumerate(begins)
        ]
    )  # fmt: skip
