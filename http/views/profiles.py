"""The statuses on an account's profile, as one viewer sees them."""

from __future__ import annotations

from dataclasses import dataclass

from ...actors.rules.visibility import Perspective, belongs_on_profile
from ...actors.timelines.paging import read_page
from ...storage import timelines
from ...storage.accounts import Account
from ...storage.paging import Page
from ...storage.timeline_entries import TimelineEntry
from ..access.context import HttpContext

OPEN = ("public", "unlisted")
ONLY_PUBLIC = ("public",)


@dataclass(frozen=True, slots=True)
class ProfilePart:
    """The part of a profile's statuses that is wanted."""

    exclude_replies: bool = False
    exclude_reblogs: bool = False
    only_media: bool = False
    only_public: bool = False
    tagged: str | None = None


async def posts_of(
    context: HttpContext, account: Account, viewer: Perspective, part: ProfilePart, page: Page
) -> list[int]:
    """Return the ids of a page of statuses and boosts that the viewer may see, newest first."""
    known = viewer.account_id == account.id or account.id in viewer.following
    visibilities = ONLY_PUBLIC if part.only_public else timelines.EVERY_VISIBILITY if known else OPEN

    async def fetch(at: Page) -> list[TimelineEntry]:
        return await context.database.read(
            timelines.account_entries,
            account.id,
            at,
            visibilities=visibilities,
            exclude_replies=part.exclude_replies,
            exclude_reblogs=part.exclude_reblogs,
            only_media=part.only_media,
            tagged=part.tagged,
            viewer=viewer.account_id,
        )

    return await read_page(fetch, lambda entry: belongs_on_profile(entry, viewer), page)


async def pinned_of(context: HttpContext, account: Account, viewer: Perspective) -> list[int]:
    """Return the ids of the pinned statuses that the viewer may see."""
    pinned = await context.database.read(timelines.pinned_entries, account.id)
    return [entry.id for entry in pinned if belongs_on_profile(entry, viewer)]
