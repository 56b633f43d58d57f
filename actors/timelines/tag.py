"""A hashtag's timeline: every public status under it, answers too, but none by the silenced."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from ...storage import tags
from ...storage.paging import Page
from ...storage.statuses import TimelineEntry
from ..kernel import turn
from ..rules.visibility import ANONYMOUS, Perspective, hidden
from ..statuses import ShownStatus
from .public import PublicTimeline
from .sifting import sift


@dataclass(frozen=True, slots=True)
class TagPage:
    """Query: ids of one page for this viewer, newest first. `local` None means from wherever."""

    cursors: Page
    viewer: Perspective = ANONYMOUS
    any_of: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()
    local: bool | None = None
    only_media: bool = False

    @property
    def joins(self) -> bool:
        """Whether other tags have a say, which memory knows nothing of."""
        return bool(self.any_of or self.all_of or self.none_of)

    def admits(self, entry: TimelineEntry) -> bool:
        if hidden(entry, self.viewer) or (self.only_media and not entry.has_media):
            return False
        return self.local is None or entry.local == self.local


class TagTimeline(PublicTimeline):
    """`tag/NAME`."""

    async def fetch(self, at: Page, *, only_media: bool) -> list[TimelineEntry]:
        return await self.rows(TagPage(at, only_media=only_media), at)

    async def rows(self, wanted: TagPage, at: Page) -> list[TimelineEntry]:
        return await self.context.database.read(
            tags.entries, (self.place, *wanted.any_of), at, all_of=wanted.all_of, none_of=wanted.none_of,
            local=wanted.local, only_media=wanted.only_media)  # fmt: skip

    def holds(self, entry: TimelineEntry, subject: object) -> bool:
        """An edit may have taken the tag away, or have brought it."""
        return isinstance(subject, ShownStatus) and any(tag.name == self.place for tag in subject.status.tags)


@turn(TagTimeline, TagPage)
def page(timeline: TagTimeline, message: TagPage) -> list[int] | Coroutine[Any, Any, list[int]]:
    """From the window, or from rows when it does not hold the page."""
    ids = None if message.joins else timeline.window.page(message.cursors, message.admits)
    return ids if ids is not None else _page_from_rows(timeline, message)


async def _page_from_rows(timeline: TagTimeline, message: TagPage) -> list[int]:
    async def fetch(at: Page) -> list[TimelineEntry]:
        return await timeline.rows(message, at)

    return await sift(fetch, message.admits, message.cursors)
