"""A cache of rows, loaded in batches. The turn that changes a row drops it.

A row that is dropped while it is being loaded is returned to its reader but not kept: otherwise the old row could stay
in the cache after the change. For the same reason a turn's own row is not stored if the row was changed since the
turn's transaction began: another node may have reported a later change meanwhile.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")

MOST_BYTES = 64 * 1024 * 1024  # of the weighed rows of a cache
# Rows whose latest change is remembered, so that no older row replaces them. A row is older by seconds at most.
CHANGES_REMEMBERED = 10_000


@dataclass(eq=False)
class _Load:
    ids: frozenset[int]
    changed: set[int] = field(default_factory=set[int])


class RowCache(Generic[T]):
    """The `capacity` most recently used rows, by id. `load` returns the existing rows with some ids.

    `weight_of` returns the bytes of a row, for rows of very different sizes. Rows of `MOST_BYTES` in all are cached.
    """

    def __init__(
        self,
        load: Callable[[list[int]], Awaitable[dict[int, T]]],
        capacity: int,
        weight_of: Callable[[T], int] = lambda row: 0,
    ) -> None:
        self._load = load
        self._capacity = capacity
        self._weight_of = weight_of
        self._weight = 0
        self._rows: OrderedDict[int, T] = OrderedDict()
        self._loads: dict[_Load, None] = {}
        self.changes = 0  # the number of rows that were dropped or stored so far
        self._changed: OrderedDict[int, int] = OrderedDict()  # by row: the number of its latest change
        self._unknown = 0  # changes up to this number are not remembered

    async def find(self, id: int) -> T | None:
        row = self.use(id)
        return row if row is not None else (await self.find_many([id])).get(id)

    async def find_many(self, ids: Iterable[int]) -> dict[int, T]:
        """Return the rows with these ids, in the given order. Missing rows are left out. Takes one query at most."""
        wanted = dict.fromkeys(ids)
        held = {id: row for id in wanted if (row := self.use(id)) is not None}
        if len(held) == len(wanted):
            return held
        loaded = await self._read([id for id in wanted if id not in held])
        # Rows that were cached may have been dropped or evicted during the query. They were right when the call began.
        rows = ((id, self._rows.get(id) or loaded.get(id) or held.get(id)) for id in wanted)
        return {id: row for id, row in rows if row is not None}

    def holds(self, id: int, row: T) -> bool:
        """True if this is the row that is kept: it was not dropped or replaced since it was read."""
        return self._rows.get(id) is row

    def peek(self, id: int) -> T | None:
        """Return the row if it is kept. It does not count as used."""
        return self._rows.get(id)

    def put(self, id: int, row: T, since: int) -> None:
        """Store a row after a commit, unless it was changed `since`: the number of changes before the transaction."""
        if since >= self._unknown and self._changed.get(id, 0) <= since:
            self.drop(id)
            self._keep(id, row)

    def put_first(self, id: int, row: T) -> None:
        """Store a new row after a commit, as it was inserted, unless it was changed already."""
        if id not in self._changed:
            self.drop(id)
            self._keep(id, row)

    def drop(self, id: int) -> None:
        """Remove a row that has changed, so that it is read again."""
        self._forget(id)
        self.changes += 1
        changed = self._changed
        changed[id] = self.changes
        changed.move_to_end(id)
        if len(changed) > CHANGES_REMEMBERED:
            _, self._unknown = changed.popitem(last=False)
        for load in self._loads:
            if id in load.ids:
                load.changed.add(id)

    def clear(self) -> None:
        """Remove all rows, because any of them may have changed."""
        self._rows.clear()
        self._weight = 0
        self.changes += 1
        self._unknown = self.changes
        for load in self._loads:
            load.changed |= load.ids

    async def _read(self, ids: Sequence[int]) -> dict[int, T]:
        load = _Load(frozenset(ids))
        self._loads[load] = None
        try:
            rows = await self._load(list(ids))
        finally:
            del self._loads[load]
        for id, row in rows.items():
            if id not in load.changed:
                self._keep(id, row)
        return rows

    def use(self, id: int) -> T | None:
        """Return the row if it is kept. It counts as used."""
        row = self._rows.get(id)
        if row is not None:
            self._rows.move_to_end(id)
        return row

    def _keep(self, id: int, row: T) -> None:
        self._forget(id)
        self._rows[id] = row
        self._weight += self._weight_of(row)
        while len(self._rows) > self._capacity or self._weight > MOST_BYTES:
            self._forget(next(iter(self._rows)))

    def _forget(self, id: int) -> None:
        row = self._rows.pop(id, None)
        if row is not None:
            self._weight -= self._weight_of(row)
