"""Review of hashtags directly in the rows, for the commands."""

from __future__ import annotations

from datetime import datetime

from ...actors.kernel.ids import Ids, first_id_at
from ...actors.rules.text import tag_name
from ...actors.rules.trends import LEAST_ACCOUNTS
from ...actors.trends import last_days, ranked
from ...storage import tags, trends
from ...storage.engine import notices
from ...storage.engine.database import Connection


class UnknownTag(Exception):
    """Raised for a hashtag that no post has ever had."""


async def review(db: Connection, named: str, trendable: bool, ids: Ids, now: datetime) -> str:
    """Store whether a hashtag may trend, and return its name."""
    name = tag_name(named)
    if not await tags.review(db, name, now, trendable=trendable):
        raise UnknownTag(f"no post has the hashtag #{name}")
    await notices.announce(db, "tags")
    return name


async def find_waiting(db: Connection, ids: Ids, now: datetime) -> list[str]:
    """Return the names of hashtags that would trend and are not reviewed, the first one most."""
    begins = [first_id_at(day) for day in last_days(now)]
    used = await trends.used_tags(db, begins, LEAST_ACCOUNTS)
    return [one.tag.name for one in ranked(used) if one.trendable is None]
