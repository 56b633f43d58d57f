"""FeaturedTag."""

from __future__ import annotations

from urllib.parse import quote

from ...storage.accounts import Account
from ...storage.featured_tags import FeaturedTag
from .times import day


def featured_tag_fields(featured: FeaturedTag, owner: Account) -> dict[str, object]:
    """Return a featured hashtag. Its address lists the owner's statuses with it."""
    profile = owner.url or owner.uri
    return {
        "id": str(featured.id),
        "name": featured.display_name,
        "url": f"{profile}/tagged/{quote(featured.name)}",
        "statuses_count": str(featured.statuses),
        "last_status_at": day(featured.last_status_at),
    }
