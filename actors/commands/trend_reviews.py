"""Decisions of staff on what may trend, and on hashtags, in the turn of the account that decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...storage import tags, trend_reviews
from ...storage.engine.database import Connection
from ..account import AccountActor
from ..facts import ChangedTrends
from ..kernel import Message, Refused, turn
from ..refusals import NOT_FOUND
from ..rules.roles import Permission
from ..staff import Staff, StaffAct, Target, act_in_turn, needs

# A tag is named by its name, a publisher by its domain, a link by the id of its card, the others by their ids.
Kind = Literal["tag", "link", "publisher", "status", "author"]


@dataclass(frozen=True, slots=True)
class ReviewTrend(Message[None]):
    """Command: let something trend, or keep it out of the trends."""

    staff: Staff
    kind: Kind
    key: int | str
    trendable: bool


@dataclass(frozen=True, slots=True)
class ChangeTag(Message[None]):
    """Command: change what a hashtag may do. None leaves a value as it is.

    A hashtag that is not `usable` can't be featured or found; one that is not `listable` can't be found.
    """

    staff: Staff
    id: int
    display_name: str | None = None
    usable: bool | None = None
    listable: bool | None = None
    trendable: bool | None = None


@turn(AccountActor, ReviewTrend)
async def review_trend(account: AccountActor, message: ReviewTrend) -> Refused | None:
    return await act_in_turn(account, message.staff, review, message.kind, message.key, trendable=message.trendable)


@turn(AccountActor, ChangeTag)
async def change_tag(account: AccountActor, message: ChangeTag) -> Refused | None:
    return await act_in_turn(account, message.staff, change, message)


@needs(Permission.MANAGE_TAXONOMIES)
async def review(db: Connection, act: StaffAct, kind: Kind, key: int | str, *, trendable: bool) -> Refused | None:
    """Decide whether something may trend, in a transaction."""
    if not await _store(db, act, kind, key, trendable=trendable):
        return NOT_FOUND
    named = Target(kind, key if isinstance(key, int) else None, str(key))
    await act.log(db, "allow_trend" if trendable else "forbid_trend", named)
    await act.publish(db, [ChangedTrends()])
    return None


@needs(Permission.MANAGE_TAXONOMIES)
async def change(db: Connection, act: StaffAct, wanted: ChangeTag) -> Refused | None:
    """Change what a hashtag may do, in a transaction."""
    changes = {"usable": wanted.usable, "listable": wanted.listable, "trendable": wanted.trendable}
    name = await tags.change(db, wanted.id, act.now, display_name=wanted.display_name, **changes)
    if name is None:
        return NOT_FOUND
    given = {key: value for key, value in changes.items() if value is not None}
    await act.log(db, "change_tag", Target("tag", wanted.id, name), "", changed=given)
    await act.publish(db, [ChangedTrends()])
    return None


async def _store(db: Connection, act: StaffAct, kind: Kind, key: int | str, *, trendable: bool) -> bool:
    """Store a decision. False if there is no such thing."""
    match kind, key:
        case "tag", str():
            return await tags.review(db, key, act.now, trendable=trendable)
        case "publisher", str():
            await trend_reviews.review_publisher(db, key, act.now, trendable=trendable)
            return True
        case "link", int():
            return await trend_reviews.review_link(db, key, act.now, trendable=trendable)
        case "status", int():
            return await trend_reviews.review_status(db, key, act.now, trendable=trendable)
        case "author", int():
            return await trend_reviews.review_author(db, key, act.now, trendable=trendable)
        case _:
            return False
