"""A list's timeline: what is at home of those on the list, and of their answers what the list's owner wants."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from ...storage import lists, relations
from ...storage.lists import List as Row
from ...storage.statuses import Entry
from ..account import perspective_of
from ..backstage import Backstage
from ..kernel import Cell, Refused, Runtime, turn
from ..rules.visibility import ANONYMOUS, belongs_in_list
from .public import Public
from .sifting import sift
from .window import SIZE, Cursors

NOT_FOUND = Refused(404, "Record not found")


@dataclass(frozen=True, slots=True)
class ListPage:
    """Query: ids of one page, newest first, for the owner alone."""

    viewer_id: int
    cursors: Cursors


@dataclass(frozen=True, slots=True)
class ListOwner:
    """Query: whose list it is; None when there is no such list."""


class List(Public):
    """`list/ID`. Whatever changes about the list or its owner's relations, it reads its rows again."""

    def __init__(self, cell: Cell, runtime: Runtime, backstage: Backstage) -> None:
        super().__init__(cell, runtime, backstage)
        self.cell = cell
        self.id = int(cell.address.key)
        self.row: Row | None = None
        self.members: dict[int, int] = {}  # since when: the id of the membership compares with ids of statuses
        self.perspective = ANONYMOUS

    async def load(self) -> None:
        """Register with every author first, then read: nothing is committed unseen between the two."""
        database = self.backstage.database
        self.row = await database.read(lists.find, self.id)
        if self.row is None:
            return
        self.backstage.owned.join(self.cell, [self.row.account_id])
        owner = self.row.account_id
        self.members = await database.read(lists.members, self.id)
        self.backstage.listed.join(self.cell, self.members)
        self.perspective = perspective_of(owner, await database.read(relations.relations, owner))
        rows = await self.fetch(Cursors(limit=SIZE), only_media=False)
        self.window.fill(filter(self.admits, rows), complete=len(rows) < SIZE)
        if len(self.feed):
            await self.make_up()

    def retired(self) -> None:
        self.backstage.listed.leave(self.cell, self.members)
        if self.row is not None:
            self.backstage.owned.leave(self.cell, [self.row.account_id])

    def describe(self) -> str:
        return f"window {len(self.window)}, members {len(self.members)}, subscribers {len(self.feed)}"

    async def fetch(self, at: Cursors, *, only_media: bool) -> list[Entry]:
        return await self.backstage.database.read(
            lists.entries, self.id, max_id=at.max_id, since_id=at.since_id, min_id=at.min_id, limit=at.limit
        )

    def admits(self, entry: Entry) -> bool:
        return self.row is not None and belongs_in_list(entry, self.perspective, self.members, self.row.replies_policy)

    def holds(self, entry: Entry, subject: object) -> bool:
        return self.admits(entry)

    def is_news(self, entry: Entry) -> bool:
        """Older statuses of a new follow or member come in quietly."""
        following = self.perspective.following.get(entry.account_id)
        since = max(following.since if following else 0, self.members.get(entry.account_id, 0))
        return entry.id > max(self.feed.floor, since)


@turn(List, ListOwner)
def owner(self: List, message: ListOwner) -> int | None:
    return self.row.account_id if self.row is not None else None


@turn(List, ListPage)
def page(self: List, message: ListPage) -> list[int] | Refused | Coroutine[Any, Any, list[int]]:
    """From the window, or from rows beyond it."""
    if self.row is None or self.row.account_id != message.viewer_id:
        return NOT_FOUND
    ids = self.window.page(message.cursors)
    return ids if ids is not None else _older_page(self, message.cursors)


async def _older_page(self: List, cursors: Cursors) -> list[int]:
    async def fetch(at: Cursors) -> list[Entry]:
        return await self.fetch(at, only_media=False)

    return await sift(fetch, self.admits, cursors)
