"""Trends: the hashtags, statuses and links that are discussed in these days, computed every few minutes.

They are the same for all viewers. What a viewer is shown of them is decided by each request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..storage import tags, trends
from ..storage.engine.database import Database
from ..storage.statuses import StatusTag
from ..storage.trends import UsedLink, UsedTag
from .computed import Computed
from .kernel.clock import Clock
from .kernel.ids import first_id_at
from .rules.trends import DAY, LEAST_ACCOUNTS, growth_score, response_score
from .rules.visibility import Perspective, belongs_in_trends
from .statuses import ShownStatus, entry_of, may_see

DAYS = 7  # that are looked at, and that a hashtag shows as its history
LASTS = timedelta(minutes=5)
MOST = 100  # of each kind

Uses = dict[int, dict[int, tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class TrendingTags:
    """Hashtags, the first one trends most, with their public uses and accounts on each day, as `tags.uses` has them."""

    tags: Sequence[StatusTag]
    days: Sequence[datetime]
    uses: Uses


@dataclass(frozen=True, slots=True)
class TrendingLinks:
    """Links, the first one trends most. `days` are the beginnings of the days of their numbers, oldest first."""

    links: Sequence[UsedLink]
    days: Sequence[datetime]

    def find(self, url: str) -> UsedLink | None:
        """Return the link with this address, if it trends."""
        return next((link for link in self.links if link.card.url == url), None)


class Trends:
    """What trends on this server. With `review`, hashtags only if staff has allowed them."""

    def __init__(self, database: Database, clock: Clock, *, review: bool) -> None:
        self._database = database
        self._clock = clock
        self._review = review
        self.tags = Computed(self._tags, clock, LASTS)
        self.statuses = Computed(self._statuses, clock, LASTS)
        self.links = Computed(self._links, clock, LASTS)

    async def _tags(self) -> TrendingTags:
        days = last_days(self._clock.now())
        begins = [first_id_at(day) for day in days]
        used = await self._database.read(trends.used_tags, begins, LEAST_ACCOUNTS)
        chosen = [one.tag for one in ranked(used) if one.trendable or (one.trendable is None and not self._review)]
        chosen = chosen[:MOST]
        uses = await self._database.read(tags.uses, [tag.id for tag in chosen], begins) if chosen else {}
        return TrendingTags(chosen, days, uses)

    async def _links(self) -> TrendingLinks:
        days = last_days(self._clock.now())
        used = await self._database.read(trends.used_links, [first_id_at(day) for day in days], LEAST_ACCOUNTS)
        scores = {link.card.id: growth_score(link.accounts) for link in used}
        found = sorted((link for link in used if scores[link.card.id]), key=lambda link: link.card.url)
        return TrendingLinks(sorted(found, key=lambda link: scores[link.card.id], reverse=True)[:MOST], days)

    async def _statuses(self) -> list[int]:
        """Return the ids of statuses, the first one trends most."""
        now = self._clock.now()
        noted = await self._database.read(trends.noted_statuses, first_id_at(now - DAY * DAYS), LEAST_ACCOUNTS)
        scores = {one.id: response_score(one.accounts, now - one.created_at) for one in noted}
        return sorted((id for id, score in scores.items() if score), key=lambda id: (-scores[id], -id))[:MOST]


def ranked(used: Sequence[UsedTag]) -> list[UsedTag]:
    """Return the hashtags that trend, the first one most."""
    scores = [(growth_score(one.accounts), one) for one in used]
    found = [(score, one) for score, one in scores if score]
    return [one for _, one in sorted(found, key=lambda pair: (-pair[0], pair[1].tag.name))]


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
