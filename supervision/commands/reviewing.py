"""Review of what may trend directly in the rows, for the commands."""

from __future__ import annotations

from datetime import datetime

from ...actors.commands.trend_reviews import Kind, review
from ...actors.kernel.ids import Ids
from ...actors.outgoing.errors import ForbiddenTarget
from ...actors.outgoing.targets import named_target
from ...actors.rules.text import tag_name
from ...actors.staff import act_at_command_line
from ...actors.trends import find_links, find_statuses, find_tags
from ...storage import accounts, preview_cards, statuses
from ...storage.engine import notices
from ...storage.engine.database import Connection

NOTICE = "trends"


class NotReviewed(Exception):
    """Raised for what can't be reviewed. The text says why."""


async def review_tag(db: Connection, named: str, trendable: bool, ids: Ids, now: datetime) -> str:
    """Store whether a hashtag may trend, and return its name."""
    name = tag_name(named)
    if not await _decide(db, "tag", name, trendable, ids, now):
        raise NotReviewed(f"no post has the hashtag #{name}")
    await notices.announce(db, NOTICE)
    return f"#{name}"


async def review_links(db: Connection, named: str, trendable: bool, ids: Ids, now: datetime) -> str:
    """Store whether one link may trend, if a URL is named, else all of a domain. Return its URL or the domain."""
    try:
        target = named_target(named if "://" in named else f"https://{named}/")
    except ForbiddenTarget as error:
        raise NotReviewed(f"{named} is neither a domain nor the URL of a page: {error}") from None
    if "://" in named:
        card = await preview_cards.find(db, target.url)
        if card is None or not await _decide(db, "link", card.id, trendable, ids, now):
            raise NotReviewed(f"no post has the link {target.url}")
        shown = target.url
    else:
        await _decide(db, "publisher", target.host, trendable, ids, now)
        shown = target.host
    await notices.announce(db, NOTICE)
    return shown


async def review_posts(db: Connection, named: str, trendable: bool, ids: Ids, now: datetime) -> str:
    """Store whether one post may trend, if a URL is named, else all of an account. Return what was named."""
    if "://" in named:
        await _review_post(db, named, trendable, ids, now)
        shown = named
    else:
        found = await accounts.find_local_many(db, [named.removeprefix("@")])
        if not found:
            raise NotReviewed(f"there is no local account {named}")
        (account,) = found.values()
        await _decide(db, "author", account.id, trendable, ids, now)
        shown = f"@{account.username}"
    await notices.announce(db, NOTICE)
    return shown


async def _review_post(db: Connection, url: str, trendable: bool, ids: Ids, now: datetime) -> None:
    last = url.rpartition("/")[2]
    status = await statuses.find(db, int(last)) if last.isascii() and last.isdigit() and len(last) < 19 else None
    if status is None or status.url != url:
        raise NotReviewed(f"there is no post {url}")
    await _decide(db, "status", status.id, trendable, ids, now)


async def _decide(db: Connection, kind: Kind, key: int | str, trendable: bool, ids: Ids, now: datetime) -> bool:
    return await review(db, act_at_command_line(ids, now), kind, key, trendable=trendable) is None


async def find_waiting_tags(db: Connection, ids: Ids, now: datetime) -> list[str]:
    """Return the hashtags that would trend and are not reviewed, the first one most."""
    return [f"#{one.tag.name}" for one in await find_tags(db, now) if one.trendable is None]


async def find_waiting_links(db: Connection, ids: Ids, now: datetime) -> list[str]:
    """Return the URLs of links that would trend and are not reviewed, the first one most."""
    return [one.link.card.url for one in await find_links(db, now) if one.trendable is None]


async def find_waiting_posts(db: Connection, ids: Ids, now: datetime) -> list[str]:
    """Return the URLs of posts that would trend and are not reviewed, the first one most."""
    waiting = [one.status.id for one in await find_statuses(db, now) if one.trendable is None]
    found = await statuses.find_many(db, waiting)
    return [found[id].url or found[id].uri for id in waiting if id in found]
