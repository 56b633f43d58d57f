"""Rows kept in memory: loaded in batches, and never older than the change that dropped them."""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.memory import cache as module
from troupe.actors.memory.cache import RowCache


class Table:
    """Rows by id, and the queries made for them. A query reads at once and answers when `slow` is over."""

    def __init__(self) -> None:
        self.rows = {id: f"row {id}" for id in range(10)}
        self.queries: list[list[int]] = []
        self.slow = 0.0

    async def load(self, ids: list[int]) -> dict[int, str]:
        self.queries.append(ids)
        found = {id: self.rows[id] for id in ids if id in self.rows}
        await trio.sleep(self.slow)
        return found


@pytest.fixture
def table() -> Table:
    return Table()


async def test_rows_are_read_once_and_together(table: Table) -> None:
    cache = RowCache(table.load, 10)
    assert await cache.find_many([3, 1, 3]) == {3: "row 3", 1: "row 1"}
    assert await cache.find(1) == "row 1"
    assert await cache.find_many([1, 2]) == {1: "row 1", 2: "row 2"}
    assert table.queries == [[3, 1], [2]]


async def test_missing_rows_are_left_out_and_asked_for_again(table: Table) -> None:
    cache = RowCache(table.load, 10)
    assert await cache.find_many([77, 1]) == {1: "row 1"}
    assert await cache.find(77) is None
    assert table.queries == [[77, 1], [77]]


async def test_rows_come_in_the_order_asked_for(table: Table) -> None:
    cache = RowCache(table.load, 10)
    await cache.find(5)
    assert list(await cache.find_many([9, 5, 1])) == [9, 5, 1]


async def test_the_rows_used_last_are_kept(table: Table) -> None:
    cache = RowCache(table.load, 2)
    await cache.find_many([1, 2])
    await cache.find(1)
    await cache.find(3)
    assert (cache.peek(1), cache.peek(2), cache.peek(3)) == ("row 1", None, "row 3")


async def test_a_row_dropped_while_it_is_loaded_is_handed_out_but_not_kept(
    table: Table, autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    cache = RowCache(table.load, 10)
    table.slow = 1
    nursery.start_soon(cache.find_many, [1, 2])
    await wait_all_tasks_blocked()
    table.rows[1] = "changed"
    cache.drop(1)
    await trio.sleep(2)
    assert (cache.peek(1), cache.peek(2)) == (None, "row 2")
    assert await cache.find(1) == "changed"


async def test_a_row_put_while_it_is_loaded_wins_over_the_one_loaded(
    table: Table, autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    cache = RowCache(table.load, 10)
    table.slow = 1
    found: list[str | None] = []

    async def find() -> None:
        found.append(await cache.find(1))

    nursery.start_soon(find)
    await wait_all_tasks_blocked()
    cache.put(1, "newer", cache.changes)
    await trio.sleep(2)
    assert (found, cache.peek(1)) == (["newer"], "newer")


async def test_a_kept_row_dropped_while_others_are_loaded_is_not_missing(
    table: Table, autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    cache = RowCache(table.load, 10)
    await cache.find(1)
    table.slow = 1
    found: dict[int, str] = {}

    async def find() -> None:
        found.update(await cache.find_many([1, 2]))

    nursery.start_soon(find)
    await wait_all_tasks_blocked()
    cache.drop(1)
    await trio.sleep(2)
    assert found == {1: "row 1", 2: "row 2"}
    assert cache.peek(1) is None


async def test_a_page_larger_than_the_cache_is_whole(table: Table) -> None:
    cache = RowCache(table.load, 2)
    await cache.find_many([1, 2])
    assert len(await cache.find_many([1, 2, 3, 4, 5])) == 5


async def test_clearing_forgets_rows_being_loaded_too(
    table: Table, autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    cache = RowCache(table.load, 10)
    await cache.find(2)
    table.slow = 1
    nursery.start_soon(cache.find, 1)
    await wait_all_tasks_blocked()
    cache.clear()
    await trio.sleep(2)
    assert (cache.peek(1), cache.peek(2)) == (None, None)


async def test_a_load_that_fails_leaves_nothing_behind(table: Table) -> None:
    async def fail(ids: list[int]) -> dict[int, str]:
        raise LookupError

    cache = RowCache(fail, 10)
    with pytest.raises(LookupError):
        await cache.find(1)
    assert not cache._loads  # pyright: ignore[reportPrivateUsage]  # nothing else shows it


# A row of a turn, and a drop by another node. -----------------------------------------------------------------------


def test_a_row_is_not_stored_over_a_change_since_its_transaction_began(table: Table) -> None:
    cache = RowCache(table.load, 10)
    cache.drop(1)
    since = cache.changes
    cache.drop(2)
    for id in (1, 2):
        cache.put(id, "of the turn", since)
    assert (cache.peek(1), cache.peek(2)) == ("of the turn", None)


def test_an_older_row_is_not_stored_over_a_newer_row(table: Table) -> None:
    cache = RowCache(table.load, 10)
    since = cache.changes
    cache.put(1, "newer", since)
    cache.put(1, "older", since)
    assert cache.peek(1) == "newer"


def test_no_row_of_before_is_stored_after_the_cache_was_cleared(table: Table) -> None:
    cache = RowCache(table.load, 10)
    since = cache.changes
    cache.clear()
    cache.put(1, "before", since)
    cache.put(2, "after", cache.changes)
    assert (cache.peek(1), cache.peek(2)) == (None, "after")


def test_a_new_row_is_stored_unless_it_was_changed_before(table: Table) -> None:
    cache = RowCache(table.load, 10)
    cache.drop(1)
    cache.put_first(1, "inserted")
    cache.put_first(2, "inserted")
    assert (cache.peek(1), cache.peek(2)) == (None, "inserted")


def test_rows_whose_changes_are_not_remembered_are_not_stored(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHANGES_REMEMBERED", 2)
    cache = RowCache(table.load, 10)
    since = cache.changes
    for id in (1, 2, 3):
        cache.drop(id)
    cache.put(1, "of the turn", since)
    assert cache.peek(1) is None
    cache.put(1, "later", cache.changes)
    assert cache.peek(1) == "later"
