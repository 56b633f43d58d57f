"""A list's timeline: what is at home of those on the list, and of their answers what the list's owner wants."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from ...storage import lists, relations
from ...storage.lists import List as Row
from ...storage.paging import Page
from ...storage.statuses import TimelineEntry
from ..account import perspective_of
from ..context import ActorContext
from ..kernel import Cell, Refused, Runtime, turn
from ..rules.visibility import ANONYMOUS, belongs_in_list
from .public import PublicTimeline
from .sifting import sift
from .window import SIZE

NOT_FOUND = Refused(404, "Record not found")


@dataclass(frozen=True, slots=True)
class ListPage:
    """Query: ids of one page, newest first, for the owner alone."""

    viewer_id: int
    cursors: Page


@dataclass(frozen=True, slots=True)
class ListOwner:
    """Query: whose list it is; None when there is no such list."""


class ListTimeline(PublicTimeline):
    """`list/ID`. Whatever changes about the list or its owner's relations, it reads its rows again."""

    def __init__(self, cell: Cell, runtime: Runtime, context: ActorContext) -> None:
        super().__init__(cell, runtime, context)
        self.cell = cell
        self.id = int(cell.address.key)
        self.row: Row | None = None
        self.members: dict[int, int] = {}  # since when: the id of the membership compares with ids of statuses
        self.perspective = ANONYMOUS

    async def load(self) -> None:
        """Register with every author first, then read: nothing is committed unseen between the two."""
        database = self.context.database
        self.row = await database.read(lists.find, self.id)
        if self.row is None:
            return
        self.context.owned.join(self.cell, [self.row.account_id])
        owner = self.row.account_id
        self.members = await database.read(lists.members, self.id)
        self.context.listed.join(self.cell, self.members)
        self.perspective = perspective_of(owner, await database.read(relations.relations, owner))
        rows = await self.fetch(Page(SIZE), only_media=False)
        self.window.fill(filter(self.admits, rows), complete=len(rows) < SIZE)
        if len(self.feed):
            await self.make_up()

    def retired(self) -> None:
        self.context.listed.leave(self.cell, self.members)
        if self.row is not None:
            self.context.owned.leave(self.cell, [self.row.account_id])

    def describe(self) -> str:
        return f"window {len(self.window)}, members {len(self.members)}, subscribers {len(self.feed)}"

    async def fetch(self, at: Page, *, only_media: bool) -> list[TimelineEntry]:
        return await self.context.database.read(lists.entries, self.id, at)

    def admits(self, entry: TimelineEntry) -> bool:
        return self.row is not None and belongs_in_list(entry, self.perspective, self.members, self.row.replies_policy)

    def holds(self, entry: TimelineEntry, subject: object) -> bool:
        return self.admits(entry)

    def is_news(self, entry: TimelineEntry) -> bool:
        """Older statuses of a new follow or member come in quietly."""
        following = self.perspective.following.get(entry.account_id)
        since = max(following.since if following else 0, self.members.get(entry.account_id, 0))
        return entry.id > max(self.feed.floor, since)


@turn(ListTimeline, ListOwner)
def owner(timeline: ListTimeline, message: ListOwner) -> int | None:
    return timeline.row.account_id if timeline.row is not None else None


@turn(ListTimeline, ListPage)
def page(timeline: ListTimeline, message: ListPage) -> list[int] | Refused | Coroutine[Any, Any, list[int]]:
    """From the window, or from rows beyond it."""
    if timeline.row is None or timeline.row.account_id != message.viewer_id:
        return NOT_FOUND
    ids = timeline.window.page(message.cursors)
    return ids if ids is not None else _older_page(timeline, message.cursors)


async def _older_page(timeline: ListTimeline, cursors: Page) -> list[int]:
    async def fetch(at: Page) -> list[TimelineEntry]:
        return await timeline.fetch(at, only_media=False)

    return await sift(fetch, timeline.admits, cursors)
