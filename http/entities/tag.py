"""Tag with the history of its uses, Admin::Tag and FeaturedTag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ...actors.rules.text import tag_url, tagged_url
from ...storage.accounts import Account
from ...storage.featured_tags import FeaturedTag
from ...storage.statuses import StatusTag
from ...storage.tags import ReviewedTag
from .times import day


@dataclass(frozen=True, slots=True)
class TagFlags:
    """A viewer's flags of a hashtag."""

    following: bool
    featuring: bool


def tag_fields(
    tag: StatusTag,
    days: Sequence[datetime],
    uses: Mapping[int, tuple[int, int]],
    base_url: str,
    flags: TagFlags | None = None,
) -> dict[str, object]:
    """Return a hashtag with its history.

    `days` are the beginnings of days, oldest first. `uses` has the number of uses and of accounts on the n-th day.
    Without a viewer there are no `flags`.
    """
    fields: dict[str, object] = {
        "id": str(tag.id),
        "name": tag.name,
        "url": tag_url(base_url, tag.name),
        "history": [day_fields(days[number], *uses.get(number, (0, 0))) for number in reversed(range(len(days)))],
    }
    return fields if flags is None else fields | {"following": flags.following, "featuring": flags.featuring}


def day_fields(begins: datetime, uses: int, accounts: int) -> dict[str, str]:
    """Return a day of the history of a hashtag or a link."""
    return {"day": str(int(begins.timestamp())), "uses": str(uses), "accounts": str(accounts)}


def reviewed_tag_fields(
    reviewed: ReviewedTag, days: Sequence[datetime], uses: Mapping[int, tuple[int, int]], base_url: str, *, review: bool
) -> dict[str, object]:
    """Return a hashtag for staff. With `review`, hashtags that staff have not allowed do not trend."""
    trendable = not review if reviewed.trendable is None else reviewed.trendable
    return tag_fields(reviewed.tag, days, uses, base_url) | {
        "trendable": trendable,
        "usable": reviewed.usable,
        "listable": reviewed.listable,
        "requires_review": reviewed.reviewed_at is None,
    }


def featured_tag_fields(featured: FeaturedTag, owner: Account) -> dict[str, object]:
    """Return a featured hashtag. Its URL lists the owner's statuses with the hashtag."""
    return {
        "id": str(featured.id),
        "name": featured.display_name,
        "url": tagged_url(owner.url or owner.uri, featured.name),
        "statuses_count": str(featured.statuses),
        "last_status_at": day(featured.last_status_at),
    }
