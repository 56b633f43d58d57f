"""Decisions of staff on trends and on hashtags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...storage import tags, trend_reviews
from ..facts.server import ChangedTrends
from ..kernel import Command, Refused
from ..refusals import NOT_FOUND
from ..rules.roles import Permission
from ..staff.acts import Staff, StaffAct, Target, act

# A tag is named by its name, a publisher by its domain, a link by the id of its card, the others by their ids.
Kind = Literal["tag", "link", "publisher", "status", "author"]


@dataclass(frozen=True, slots=True)
class ReviewTrend(Command[None]):
    """Command: let something trend, or keep it out of the trends."""

    staff: Staff
    kind: Kind
    key: int | str
    trendable: bool


@dataclass(frozen=True, slots=True)
class ChangeTag(Command[None]):
    """Command: change the permissions of a hashtag. None leaves a permission as it is.

    A hashtag that is not `usable` can't be featured or found; a hashtag that is not `listable` can't be found.
    """

    staff: Staff
    id: int
    display_name: str | None = None
    usable: bool | None = None
    listable: bool | None = None
    trendable: bool | None = None


@act(ReviewTrend, Permission.MANAGE_TAXONOMIES)
async def review(act: StaffAct, message: ReviewTrend) -> Refused | None:
    """Decide whether something may trend."""
    key = message.key
    if not await _store(act, message):
        return NOT_FOUND
    named = Target(message.kind, key if isinstance(key, int) else None, str(key))
    await act.log("allow_trend" if message.trendable else "forbid_trend", named)
    act.publish(ChangedTrends())
    return None


@act(ChangeTag, Permission.MANAGE_TAXONOMIES)
async def change(act: StaffAct, message: ChangeTag) -> Refused | None:
    """Change the permissions of a hashtag."""
    changes = {"usable": message.usable, "listable": message.listable, "trendable": message.trendable}
    name = await tags.change(act.db, message.id, act.now, display_name=message.display_name, **changes)
    if name is None:
        return NOT_FOUND
    given = {key: value for key, value in changes.items() if value is not None}
    await act.log("change_tag", Target("tag", message.id, name), "", changed=given)
    act.publish(ChangedTrends())
    return None


async def _store(act: StaffAct, message: ReviewTrend) -> bool:
    """Store a decision. Return False if its object does not exist."""
    db, now, trendable = act.db, act.now, message.trendable
    match message.kind, message.key:
        case "tag", str() as key:
            return await tags.review(db, key, now, trendable=trendable)
        case "publisher", str() as key:
            await trend_reviews.review_publisher(db, key, now, trendable=trendable)
            return True
        case "link", int() as key:
            return await trend_reviews.review_link(db, key, now, trendable=trendable)
        case "status", int() as key:
            return await trend_reviews.review_status(db, key, now, trendable=trendable)
        case "author", int() as key:
            return await trend_reviews.review_author(db, key, now, trendable=trendable)
        case _:
            return False
