"""Trends: the hashtags, statuses and links that are discussed in these days, computed every few minutes.

They are the same for all viewers. Each request decides which of them its viewer is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ...storage import tags, trend_reviews, trends
from ...storage.engine.database import Connection, Database
from ...storage.statuses import StatusTag
from ...storage.trends import NotedStatus, UsedLink, UsedTag
from ..kernel.clock import Clock, first_id_at
from ..memory.computed import Computed
from ..rules.trends import DAY, LEAST_ACCOUNTS, growth_score, publishers_of, response_score
from ..rules.visibility import Perspective, belongs_in_trends
from .statuses import ShownStatus, entry_of, may_see

DAYS = 7  # that are looked at, and that a hashtag shows as its history
LASTS = timedelta(minutes=5)
MOST = 100  # of each kind

Uses = dict[int, dict[int, tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class TrendingTags:
    """Hashtags, the strongest trend first, with their public uses and accounts on each day, as `tags.uses` has them."""

    tags: Sequence[StatusTag]
    days: Sequence[datetime]
    uses: Uses


@dataclass(frozen=True, slots=True)
class TrendingLinks:
    """Links, the strongest trend first. `days` are the beginnings of the days of their numbers, oldest first."""

    links: Sequence[UsedLink]
    days: Sequence[datetime]

    def find(self, url: str) -> UsedLink | None:
        """Return the link with this address, if it trends."""
        return next((link for link in self.links if link.card.url == url), None)


@dataclass(frozen=True, slots=True)
class ReviewedLink:
    """A link that many accounts share. `trendable` is the decision of staff, or None."""

    link: UsedLink
    trendable: bool | None


@dataclass(frozen=True, slots=True)
class ReviewedStatus:
    """A status that many accounts respond to. `trendable` is the decision of staff, or None."""

    status: NotedStatus
    trendable: bool | None


class Trends:
    """The trends of this server. With `review`, only trends that staff has allowed."""

    def __init__(self, database: Database, clock: Clock, *, review: bool) -> None:
        self._database = database
        self._clock = clock
        self._review = review
        self.tags = Computed(self._tags, clock, LASTS)
        self.statuses = Computed(self._statuses, clock, LASTS)
        self.links = Computed(self._links, clock, LASTS)

    def forget(self) -> None:
        """Compute all trends again on demand, because staff has made a decision."""
        for kind in (self.tags, self.statuses, self.links):
            kind.forget()

    async def _tags(self) -> TrendingTags:
        now = self._clock.now()
        found = await self._database.read(find_tags, now)
        chosen = [used.tag for used in found if self._may_trend(used.trendable)][:MOST]
        days = last_days(now)
        begins = [first_id_at(day) for day in days]
        uses = await self._database.read(tags.uses, [tag.id for tag in chosen], begins) if chosen else {}
        return TrendingTags(chosen, days, uses)

    async def _links(self) -> TrendingLinks:
        now = self._clock.now()
        found = await self._database.read(find_links, now)
        return TrendingLinks(
            [reviewed.link for reviewed in found if self._may_trend(reviewed.trendable)][:MOST], last_days(now)
        )

    async def _statuses(self) -> list[int]:
        """Return the ids of statuses, the strongest trend first."""
        found = await self._database.read(find_statuses, self._clock.now())
        return [reviewed.status.id for reviewed in found if self._may_trend(reviewed.trendable)][:MOST]

    def _may_trend(self, trendable: bool | None) -> bool:
        return trendable if trendable is not None else not self._review


async def find_tags(db: Connection, now: datetime) -> list[UsedTag]:
    """Return the hashtags that trend or wait for a review, the strongest trend first."""
    days = last_days(now)
    used = await trends.used_tags(db, [first_id_at(day) for day in days], LEAST_ACCOUNTS, days[0])
    scores = [(growth_score(tag.accounts), tag) for tag in used]
    return [tag for score, tag in sorted(scores, key=lambda pair: (-pair[0], pair[1].tag.name)) if score]


async def find_links(db: Connection, now: datetime) -> list[ReviewedLink]:
    """Return the links that trend, wait for a review or were forbidden, the strongest trend first."""
    days = last_days(now)
    used = await trends.used_links(db, [first_id_at(day) for day in days], LEAST_ACCOUNTS, days[0])
    scores = [(growth_score(link.accounts), link) for link in used]
    found = [link for score, link in sorted(scores, key=lambda pair: (-pair[0], pair[1].card.url)) if score]
    own = await trend_reviews.find_links(db, [link.card.id for link in found])
    domains = {domain for link in found for domain in publishers_of(link.card.url)}
    publishers = await trend_reviews.find_publishers(db, sorted(domains))
    return [ReviewedLink(link, own.get(link.card.id, _of_publisher(link.card.url, publishers))) for link in found]


async def find_statuses(db: Connection, now: datetime) -> list[ReviewedStatus]:
    """Return the statuses that trend, wait for a review or were forbidden, the strongest trend first."""
    noted = await trends.noted_statuses(db, first_id_at(now - DAY * DAYS), LEAST_ACCOUNTS)
    scores = [(response_score(status.accounts, now - status.created_at), status) for status in noted]
    found = [status for score, status in sorted(scores, key=lambda pair: (-pair[0], -pair[1].id)) if score]
    own = await trend_reviews.find_statuses(db, [status.id for status in found])
    authors = await trend_reviews.find_authors(db, sorted({status.account_id for status in found}))
    return [ReviewedStatus(status, own.get(status.id, authors.get(status.account_id))) for status in found]


def _of_publisher(url: str, decisions: Mapping[str, bool]) -> bool | None:
    """Return the decision on the nearest domain that has a decision."""
    return next((decisions[domain] for domain in publishers_of(url) if domain in decisions), None)


def last_days(now: datetime) -> list[datetime]:
    """Return the beginnings of the last days in UTC, today's last."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return [today - DAY * ago for ago in reversed(range(DAYS))]


def shown_in_trends(shown: ShownStatus, viewer: Perspective) -> bool:
    """True if a trending status is shown to the viewer. It may have changed since the trends were computed."""
    status = shown.status
    if not shown.author.discoverable or status.sensitive or status.spoiler_text:
        return False
    return may_see(shown, viewer) and belongs_in_trends(entry_of(shown), viewer)
