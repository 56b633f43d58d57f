"""A hashtag's timeline: every public status with the tag, including replies, except statuses of silenced accounts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from ...storage import tags
from ...storage.deletions import Remains
from ...storage.timeline_entries import TimelineEntry
from ...storage.upkeep.paging import Page
from ..broadcast.events import StatusAmended
from ..kernel import Answer, Message, turn
from ..rules.visibility import ANONYMOUS, Perspective, belongs_under_tags, hidden
from .timeline import Timeline


@dataclass(frozen=True, slots=True)
class TagPage(Message[list[int]]):
    """Query: ids of one page for this viewer, newest first. `local` None means from any server."""

    page: Page
    viewer: Perspective = ANONYMOUS
    any_of: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()
    local: bool | None = None
    only_media: bool = False

    @property
    def names_other_tags(self) -> bool:
        """True if the page depends on other tags, which only the rows have."""
        return bool(self.any_of or self.all_of or self.none_of)

    def admits(self, entry: TimelineEntry) -> bool:
        if hidden(entry, self.viewer) or (self.only_media and not entry.has_media):
            return False
        return self.local is None or entry.local == self.local


class TagTimeline(Timeline):
    """`tag/NAME`."""

    async def rows(self, at: Page, query: TagPage | None = None) -> list[TimelineEntry]:
        wanted = query or TagPage(at)
        return await self.context.database.read(
            tags.entries, (self.address.key, *wanted.any_of), at, all_of=wanted.all_of, none_of=wanted.none_of,
            local=wanted.local, only_media=wanted.only_media,
        )  # fmt: skip

    def admits(self, entry: TimelineEntry) -> bool:
        return belongs_under_tags(entry) and not entry.silenced

    def may_have_shown(self, account_id: int, remains: Remains) -> bool:
        return remains.visibility == "public" and self.address.key in remains.tags

    def admits_edited(self, entry: TimelineEntry, event: StatusAmended) -> bool:
        """True if the status has the tag after the edit. All awake hashtag timelines get every edit."""
        return any(tag.name == self.address.key for tag in event.status.status.tags)


@turn(TagTimeline, TagPage)
def page(timeline: TagTimeline, message: TagPage) -> Answer[list[int]]:
    rows = partial(timeline.rows, query=message)
    if message.names_other_tags:
        return timeline.page_from_rows(message.page, message.admits, rows)
    return timeline.page(message.page, message.admits, rows)
