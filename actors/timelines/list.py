"""A list: its terms, its members, and its timeline of their statuses and boosts.

Replies are included as the list's replies policy says. The commands are in `commands/lists.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from ...storage import lists
from ...storage.deletions import Remains
from ...storage.engine.database import Connection
from ...storage.engine.shards import shard_of
from ...storage.lists import List as Row
from ...storage.timeline_entries import TimelineEntry
from ...storage.upkeep.paging import Page
from ..change import Change
from ..context import ActorContext
from ..kernel import Answer, Cell, Message, Runtime, turn
from ..refusals import NOT_FOUND
from ..rules.visibility import ANONYMOUS, belongs_in_list
from .timeline import Timeline

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ListPage(Message[list[int]]):
    """Query: ids of one page, newest first. Refused unless the viewer owns the list."""

    viewer_id: int
    page: Page


@dataclass(frozen=True, slots=True)
class ListOwner(Message[int | None]):
    """Query: the account that owns the list. None if the list does not exist."""


class ListChange(Change):
    """The transaction of a turn of a list."""

    __slots__ = ("timeline",)

    def __init__(self, timeline: ListTimeline, db: Connection) -> None:
        super().__init__(db, timeline.context, timeline.address, timeline.shard, timeline.origin)
        self.timeline = timeline


class ListTimeline(Timeline):
    """`list/ID`. It reads its rows again after its own changes and after changes of its owner's relations."""

    def __init__(self, cell: Cell, runtime: Runtime, context: ActorContext) -> None:
        super().__init__(cell, runtime, context)
        self.id = int(cell.address.key)
        self.row: Row | None = None
        self.members: dict[int, int] = {}  # with the ids of the memberships, which compare with ids of statuses
        self.perspective = ANONYMOUS

    async def load(self) -> None:
        database, others = self.context.database, self.context.others
        self.row = await database.read(lists.find, self.id)
        # Facts that the owner of the shard has not published. The shard of a deleted list is not known.
        reloaded = self._cell.incarnation > 1 and (self.row is None or others.owns(self.shard))
        if reloaded or (self.row is not None and others.took(self.shard)):
            await self.context.outbox.publish_pending(self.address)
        if self.row is None:
            return
        owner = self.row.account_id
        self.context.owned.join(self.cell, [owner])
        self.members = await database.read(lists.members, self.id)
        self.context.listed.join(self.cell, self.members)
        self.perspective = (await self.context.viewers.read_relations(owner)).perspective
        await super().load()

    @property
    def shard(self) -> int:
        """The shard of the owner."""
        if self.row is None:
            raise LookupError(f"{self.address} is gone")
        return shard_of(self.row.account_id)

    async def change(
        self, work: Callable[Concatenate[ListChange, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run this turn's one transaction, and publish its change after the commit. Return the answer of `work`.

        An answer that is a refusal rolls the transaction back.
        """
        transact = partial(self.context.database.transact_in, self.shard)
        return await self._change(transact, partial(ListChange, self), work, *args, **kwargs)

    def owned_by(self, account_id: int) -> Row | None:
        """Return the list if this account owns it. To other accounts it does not exist."""
        return self.row if self.row is not None and self.row.account_id == account_id else None

    def retired(self) -> None:
        super().retired()
        self.context.listed.leave(self.cell, self.members)
        if self.row is not None:
            self.context.owned.leave(self.cell, [self.row.account_id])

    def describe(self) -> str:
        return f"window {len(self.window)}, members {len(self.members)}, subscribers {len(self.feed)}"

    async def rows(self, at: Page) -> list[TimelineEntry]:
        return await self.context.database.read(lists.entries, self.id, at)

    def admits(self, entry: TimelineEntry) -> bool:
        return self.row is not None and belongs_in_list(entry, self.perspective, self.members, self.row.replies_policy)

    def admitted_since(self, entry: TimelineEntry) -> int:
        """Return the id of the follow or of the membership of the author, whichever is later."""
        following = self.perspective.following.get(entry.account_id)
        return max(following.since if following else 0, self.members.get(entry.account_id, 0))

    def may_have_shown(self, account_id: int, remains: Remains) -> bool:
        return account_id in self.members and remains.visibility != "direct"


@turn(ListTimeline, ListOwner)
def owner(timeline: ListTimeline, message: ListOwner) -> int | None:
    return timeline.row.account_id if timeline.row is not None else None


@turn(ListTimeline, ListPage)
def page(timeline: ListTimeline, message: ListPage) -> Answer[list[int]]:
    return timeline.page(message.page) if timeline.owned_by(message.viewer_id) else NOT_FOUND
