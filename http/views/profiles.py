"""The statuses on an account's profile, as a viewer sees them."""

from __future__ import annotations

from dataclasses import dataclass

from ...actors.rules.visibility import Perspective, belongs_on_profile
from ...actors.timelines.paging import read_page
from ...storage import timelines
from ...storage.accounts import Account
from ...storage.timeline_entries import TimelineEntry
from ...storage.upkeep.paging import Page
from ..access.context import HttpContext

OPEN = ("public", "unlisted")
ONLY_PUBLIC = ("public",)


@dataclass(frozen=True, slots=True)
class ProfilePart:
    """The filters for the statuses of a profile."""

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


async def pinned_of(context: HttpContext, account: Account, viewer: Perspective, page: Page | None = None) -> list[int]:
    """Return the ids of the pinned statuses that the viewer may see, the last pinned first: all, or a page."""
    pinned = await context.database.read(timelines.pinned_entries, account.id)
    ids = [entry.id for entry in pinned if belongs_on_profile(entry, viewer)]
    return ids if page is None else pinned_page(ids, page)


def pinned_page(ids: list[int], page: Page) -> list[int]:
    """Return a page of pins, which are in the order of pinning, not of their ids.

    A cursor that is the id of a pin means its place in this order, so that a client which sends the last id of a page
    gets the next page. Any other cursor is compared with the ids.
    """
    if page.max_id is not None:
        ids = ids[ids.index(page.max_id) + 1 :] if page.max_id in ids else [id for id in ids if id < page.max_id]
    for above in (page.since_id, page.min_id):
        if above is not None:
            ids = ids[: ids.index(above)] if above in ids else [id for id in ids if id > above]
    return ids[max(0, len(ids) - page.limit) :] if page.oldest_first else ids[: page.limit]
