"""The public timelines: statuses from this server, from other servers, and from both.

Pages are filtered by the viewer's blocks and mutes here, streams by their sessions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ...storage import timelines
from ...storage.deletions import Remains
from ...storage.timeline_entries import TimelineEntry
from ...storage.upkeep.paging import Page
from ..kernel import Answer, Message, turn
from ..rules.visibility import ANONYMOUS, Perspective, belongs_in_public, hidden
from .timeline import Timeline


@dataclass(frozen=True, slots=True)
class PublicPage(Message[list[int]]):
    """Query: ids of one page for this viewer, newest first."""

    page: Page
    viewer: Perspective = ANONYMOUS
    only_media: bool = False


class PublicTimeline(Timeline):
    """`public/all`, `public/local` or `public/remote`."""

    async def rows(self, at: Page, *, only_media: bool = False) -> list[TimelineEntry]:
        place = self.address.key
        return await self.context.database.read(
            timelines.public_entries, at, local=place == "local", remote=place == "remote", only_media=only_media
        )

    def admits(self, entry: TimelineEntry) -> bool:
        return belongs_in_public(entry) and not entry.silenced

    def may_have_shown(self, account_id: int, remains: Remains) -> bool:
        return remains.visibility == "public"


@turn(PublicTimeline, PublicPage)
def page(timeline: PublicTimeline, message: PublicPage) -> Answer[list[int]]:
    """Answer from the window; pages of media alone are read from rows, where an index finds them."""
    admits = viewer_filter(message.viewer)
    if message.only_media:
        return timeline.page_from_rows(message.page, admits, partial(timeline.rows, only_media=True))
    return timeline.page(message.page, admits)


def viewer_filter(viewer: Perspective) -> Callable[[TimelineEntry], bool] | None:
    """Return the filter of a viewer's blocks and mutes; None if the viewer has none."""
    if not viewer.shuns_some:
        return None
    return lambda entry: not hidden(entry, viewer)
