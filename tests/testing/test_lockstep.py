from __future__ import annotations

from collections.abc import Awaitable, Callable

import asyncpg
import pytest
import trio

from troupe.storage.engine.database import Connection, Doubtful, Unavailable
from troupe.supervision.testing import Budget, Fault, Planned, Point, Run
from troupe.supervision.testing.faults import Plan, never
from troupe.supervision.testing.series import PlayedSeed, Series
from troupe.supervision.testing.stage import with_database

INSERT = """
    INSERT INTO tags (id, name, display_name, created_at)
    SELECT coalesce(max(id), 0) + 1, $1, $1, '2026-05-04' FROM tags RETURNING id
"""

DOUBTS = frozenset({Fault.DOUBT_DONE, Fault.DOUBT_UNDONE})


async def insert(db: Connection, name: str) -> int:
    return await db.fetchval(INSERT, name)


async def count(db: Connection) -> int:
    return await db.fetchval("SELECT count(*) FROM tags")


def play(scenario: Callable[[Run], Awaitable[None]], *, seed: int = 0, plan: Plan = never) -> PlayedSeed:
    return Series(scenario, with_database).play(seed, "random", plan)


def stored(run: Run) -> list[str]:
    return [row["name"] for row in run.database.rows("SELECT name FROM tags ORDER BY id")]


async def three_writers(run: Run) -> None:
    async def write(who: str) -> None:
        for n in range(4):
            run.note(f"got id {await run.database.transact(insert, f'{who} {n}')}")

    async with run.together() as go:
        for who in ("ada", "bob", "cyd"):
            go(write, who, name=who)
    run.note(" ".join(stored(run)))


def test_real_postgresql_replays_from_a_seed() -> None:
    runs = [play(three_writers, seed=5) for _ in range(5)]
    assert runs[0].error is None
    assert len({run.outcome.digest for run in runs}) == 1


def test_other_seeds_write_in_other_orders() -> None:
    assert len({play(three_writers, seed=seed).outcome.digest for seed in range(30)}) == 30


def test_nothing_is_left_of_a_run() -> None:
    async def writes(run: Run) -> None:
        assert stored(run) == []
        await run.database.transact(insert, "one")

    assert play(writes).error is None
    assert play(writes).error is None


def test_a_transaction_that_fails_is_undone_and_the_run_goes_on() -> None:
    async def insert_twice(db: Connection) -> None:
        await insert(db, "half")
        await db.execute("INSERT INTO tags (id, name, display_name, created_at) VALUES (1, 'x', 'x', now())")

    async def scenario(run: Run) -> None:
        await run.database.transact(insert, "kept")
        with pytest.raises(asyncpg.UniqueViolationError):
            await run.database.transact(insert_twice)
        with pytest.raises(asyncpg.UndefinedTableError):
            await run.database.read(misspelt)
        assert stored(run) == ["kept"]

    async def misspelt(db: Connection) -> None:
        await db.fetch("SELECT * FROM tagz")

    assert play(scenario).error is None


def test_rows_values_and_tags_are_those_of_asyncpg() -> None:
    async def everything(db: Connection) -> None:
        assert await db.execute("UPDATE tags SET name = $1 WHERE id = 1", "x") == "UPDATE 0"
        assert await db.execute("LOCK TABLE tags") == "LOCK TABLE"
        assert await db.fetchrow("SELECT id FROM tags") is None
        assert await db.fetchval("SELECT id FROM tags") is None
        one = await insert(db, "one")
        assert await insert(db, "two") == one + 1
        assert [row["id"] for row in await db.fetch("SELECT id FROM tags WHERE id = ANY($1::bigint[])", [one])] == [one]
        assert dict(await db.fetchrow("SELECT id, name FROM tags ORDER BY id")) == {"id": one, "name": "one"}

    async def scenario(run: Run) -> None:
        await run.database.transact(everything)

    assert play(scenario).error is None


def test_a_transaction_waits_for_nothing_but_postgresql() -> None:
    async def sleep(db: Connection) -> None:
        await insert(db, "half")
        await trio.sleep(1)

    async def scenario(run: Run) -> None:
        with pytest.raises(RuntimeError, match="waited for something else"):
            await run.database.transact(sleep)
        assert stored(run) == []

    assert play(scenario).error is None


def test_a_transaction_is_one_step() -> None:
    """No task runs between its statements; others may run before and after it."""

    async def twice(db: Connection) -> bool:
        before = await count(db)
        await insert(db, f"tag {before}")
        return await count(db) == before + 1

    async def scenario(run: Run) -> None:
        async def write() -> None:
            assert await run.database.transact(twice)

        async with run.together() as go:
            for _ in range(5):
                go(write)

    assert not any(play(scenario, seed=seed).error for seed in range(20))


@pytest.mark.parametrize(
    ("fault", "error", "names"),
    [
        (Fault.LOST, Unavailable, []),
        (Fault.DOUBT_UNDONE, Doubtful, []),
        (Fault.DOUBT_DONE, Doubtful, ["one"]),
    ],
)
def test_a_lost_connection_says_what_is_known(fault: Fault, error: type[Exception], names: list[str]) -> None:
    async def scenario(run: Run) -> None:
        with pytest.raises(error):
            await run.database.transact(insert, "one")
        assert stored(run) == names

    played = play(scenario, plan=Planned([Point(fault, "insert", 1)]))
    assert played.error is None
    assert [line.what for line in played.trace if line.what.startswith("FAULT")] == ["FAULT: " + fault.value]


def test_work_that_conflicts_is_done_again_from_the_beginning() -> None:
    async def scenario(run: Run) -> None:
        tries: list[int] = []

        async def counted(db: Connection) -> int:
            tries.append(await count(db))
            return await insert(db, "one")

        assert await run.database.transact(counted) == 1
        assert tries == [0, 0]

    assert play(scenario, plan=Planned([Point(Fault.CONFLICT, "counted", 1)])).error is None


def test_a_database_that_is_away_comes_back() -> None:
    async def scenario(run: Run) -> None:
        refused = 0
        while True:
            try:
                await run.database.transact(insert, "one")
            except Unavailable:
                refused += 1
            else:
                break
        assert refused == 2
        assert trio.current_time() == 5

    assert play(scenario, plan=Planned([Point(Fault.AWAY, "insert", 1)])).error is None


def test_an_answer_that_is_lost_after_commit_makes_a_careless_retry_write_twice() -> None:
    async def careless(run: Run) -> None:
        try:
            await run.database.transact(insert, "hello")
        except Doubtful:
            await run.database.transact(insert, "hello again")
        assert len(stored(run)) == 1, "posted twice"

    failure = Series(careless, with_database, Budget(1, DOUBTS)).sweep([0], "calm")
    assert failure is not None
    assert failure.shrunk.struck == [Point(Fault.DOUBT_DONE, "insert", 1)]
    assert "posted twice" in str(failure.first.error)


def test_a_cancelled_caller_hears_of_a_transaction_that_was_done() -> None:
    async def scenario(run: Run) -> None:
        results: list[int] = []

        async def write(scope: trio.CancelScope) -> None:
            with scope:
                results.append(await run.database.transact(insert, "one"))

        scope = trio.CancelScope()
        async with run.together() as go:
            go(write, scope)
            await trio.lowlevel.checkpoint()
            scope.cancel()
        assert len(stored(run)) == len(results)
        run.sometimes(bool(results), "written")
        run.sometimes(not results, "not written")

    series = Series(scenario, with_database)
    assert series.play_all(range(20), ["random"]) is None
    assert series.sometimes.never == []
