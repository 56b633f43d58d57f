"""The pool: a call runs to its end, a lost connection has one meaning, and PostgreSQL may come and go."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import trio
import trio.testing

from troupe.storage.engine import pool as pool_module
from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.database import Connection, Doubtful, Fenced, Unavailable
from troupe.storage.engine.embedded import enter
from troupe.storage.engine.faults import machine_fault
from troupe.storage.engine.pool import ConnectionPool, open_pool

from ..waiting import until_found, until_none

KILL = "SELECT pg_terminate_backend($1)"
PID = "SELECT pg_backend_pid()"
COUNT = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1"


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[ConnectionPool]:
    async with open_pool(dsn, size=3) as pool:
        await value(pool, "CREATE TABLE log (text text PRIMARY KEY)")
        while pool.connected < pool.size:
            await trio.lowlevel.checkpoint()
        yield pool


async def value(pool: ConnectionPool, query: str, *args: object) -> Any:
    async def fetch(db: Connection) -> Any:
        return await db.fetchval(query, *args)

    return await pool.read(fetch)


async def write(db: Connection, text: str) -> str:
    await db.execute("INSERT INTO log VALUES ($1)", text)
    return text


async def put(pool: ConnectionPool, text: str) -> None:
    await pool.transact(write, text)


async def log(pool: ConnectionPool) -> set[str]:
    async def fetch(db: Connection) -> set[str]:
        return {row["text"] for row in await db.fetch("SELECT text FROM log")}

    return await pool.read(fetch)


async def test_a_transaction_commits_and_returns_what_its_work_returned(pool: ConnectionPool) -> None:
    assert await pool.transact(write, "one") == "one"
    assert await log(pool) == {"one"}


async def test_work_that_asks_nothing_is_answered_all_the_same(pool: ConnectionPool) -> None:
    async def fail(_: Connection) -> None:
        raise ValueError("no")

    async def answer(_: Connection) -> str:
        return "yes"

    for ask in (pool.read, pool.transact):
        assert await ask(answer) == "yes"
        with pytest.raises(ValueError, match="no"):
            await ask(fail)


async def test_an_error_of_the_work_rolls_back_and_reaches_the_asker_as_it_is(pool: ConnectionPool) -> None:
    async def fail(db: Connection) -> None:
        await write(db, "one")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await pool.transact(fail)
    assert await log(pool) == set()


async def test_a_broken_constraint_reaches_the_asker_as_it_is(pool: ConnectionPool) -> None:
    await pool.transact(write, "one")
    with pytest.raises(asyncpg.UniqueViolationError):
        await pool.transact(write, "one")
    assert pool.connected == 3


async def test_a_swallowed_error_is_no_success(pool: ConnectionPool) -> None:
    async def swallow(db: Connection) -> None:
        await write(db, "one")
        with pytest.raises(asyncpg.UniqueViolationError):
            await write(db, "one")

    with pytest.raises(RuntimeError, match="went on"):
        await pool.transact(swallow)
    assert await log(pool) == set()


async def test_a_transaction_given_up_by_postgresql_is_tried_again(pool: ConnectionPool) -> None:
    tries: list[int] = []

    async def stubborn(db: Connection) -> int:
        tries.append(1)
        if len(tries) < 3:
            await db.execute("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$")
        return len(tries)

    assert await pool.transact(stubborn) == 3


async def test_it_is_not_tried_for_ever(pool: ConnectionPool) -> None:
    async def hopeless(db: Connection) -> None:
        await db.execute("DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$")

    with pytest.raises(asyncpg.DeadlockDetectedError):
        await pool.transact(hopeless)


async def test_json_goes_in_and_out(pool: ConnectionPool) -> None:
    async def there_and_back(db: Connection) -> list[Any]:
        rows = await db.fetch("SELECT unnest($1::jsonb[]) AS one", [{"a": [1, None, "ä"]}, {"b": 2**53}])
        return [row["one"] for row in rows]

    assert await pool.read(there_and_back) == [{"a": [1, None, "ä"]}, {"b": 2**53}]


async def test_more_askers_than_connections_take_turns(pool: ConnectionPool) -> None:
    async with trio.open_nursery() as nursery:
        for number in range(100):
            nursery.start_soon(put, pool, str(number))
    assert len(await log(pool)) == 100


async def test_calls_one_after_the_other_use_one_connection(pool: ConnectionPool) -> None:
    """Its statements are planned already."""
    assert len({await value(pool, PID) for _ in range(6)}) == 1


async def test_a_connection_killed_while_idle_is_replaced(pool: ConnectionPool) -> None:
    async def kill_the_others(db: Connection) -> int:
        return await db.fetchval(
            "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )

    assert await pool.read(kill_the_others) == 2
    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(put, pool, str(number))
    assert len(await log(pool)) == 20


async def test_a_renamed_pool_replaces_its_connections_and_loses_no_call(dsn: str) -> None:
    reported: list[object] = []
    async with open_pool(
        dsn, size=2, application_name="before", on_connected=lambda connected, _: reported.append(connected),
        on_lost=reported.append,
    ) as pool:  # fmt: skip
        while pool.connected < pool.size:
            await trio.lowlevel.checkpoint()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(value, pool, "SELECT pg_sleep(0.2)")
            await trio.sleep(0.05)
            pool.rename("after")
            for _ in range(20):
                nursery.start_soon(value, pool, "SELECT 1")
        await until_none(lambda: value(pool, COUNT, "before"))
        assert await value(pool, COUNT, "after") > 0
    assert reported == [True]


async def test_a_connection_killed_before_commit_did_nothing(pool: ConnectionPool) -> None:
    async def die(db: Connection) -> None:
        await write(db, "one")
        await db.fetchval(KILL, await db.fetchval(PID))

    with pytest.raises(Unavailable):
        await pool.transact(die)
    assert await log(pool) == set()


async def test_a_connection_killed_inside_commit_leaves_doubt(pool: ConnectionPool) -> None:
    await value(
        pool,
        """
        DO $do$ BEGIN
            CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1); RETURN NULL;
            END $$;
            CREATE CONSTRAINT TRIGGER die AFTER INSERT ON log DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION die();
        END $do$
        """,
    )
    with pytest.raises(Doubtful):
        await pool.transact(write, "one")


async def test_a_cancelled_asker_learns_of_it_after_the_transaction(pool: ConnectionPool) -> None:
    with trio.CancelScope() as scope:

        async def cancel_us(db: Connection) -> None:
            scope.cancel()
            await write(db, "one")

        await pool.transact(cancel_us)
    assert await log(pool) == {"one"}


async def test_an_asker_cancelled_in_the_queue_leaves_it(pool: ConnectionPool) -> None:
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(value, pool, "SELECT pg_sleep(0.2)")
        await trio.testing.wait_all_tasks_blocked(0.01)
        with trio.CancelScope() as scope:
            scope.cancel()
            await pool.transact(write, "never")
    assert await log(pool) == set()


async def test_a_call_over_its_deadline_is_cut(dsn: str) -> None:
    async with open_pool(dsn, size=1, deadline=0.3) as pool:
        with pytest.raises(Unavailable) as refused:
            await value(pool, "SELECT pg_sleep(20)")
        assert machine_fault(refused.value) == "a call took too long"
        assert await value(pool, "SELECT 1") == 1


async def test_a_call_is_cut_at_its_deadline_also_if_the_lock_that_it_waits_for_is_not_found(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(dsn: str, processes: Collection[int]) -> dict[int, str]:
        return await asyncio.get_running_loop().create_future()

    monkeypatch.setattr(pool_module.lock_waits, "holders", never)
    monkeypatch.setattr(pool_module, "LOOK_FOR_LOCK", 3600.0)  # without a cut, PostgreSQL ends the statement
    async with open_pool(dsn, size=1, deadline=0.3) as pool:
        with pytest.raises(Unavailable) as refused:
            await value(pool, "SELECT pg_sleep(20)")
        assert machine_fault(refused.value) == "a call took too long"


async def test_calls_that_a_lock_holds_up_say_so(
    pool: ConnectionPool, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those that find no connection, because calls that wait for the lock have them all."""
    monkeypatch.setattr(pool_module, "PATIENCE", 1.0)
    refused: list[Unavailable] = []

    async def count() -> None:
        with pytest.raises(Unavailable) as raised:
            await value(held_up, "SELECT count(*) FROM log")
        refused.append(raised.value)

    async with (
        open_pool(dsn, size=1, application_name="psql") as holder, open_pool(dsn, size=1, deadline=0.8) as held_up
    ):  # fmt: skip
        await value(holder, "BEGIN")
        await value(holder, "LOCK TABLE log")
        async with trio.open_nursery() as nursery:
            for _ in range(6):
                nursery.start_soon(count)
        await value(holder, "ROLLBACK")
        assert await value(held_up, "SELECT count(*) FROM log") == 0
    assert {machine_fault(error) for error in refused} == {"a lock of the database holds calls up"}
    assert all(str(error.__cause__).startswith("a call waited for a lock of psql (process ") for error in refused)
    assert "no connection to PostgreSQL was free" in map(str, refused)


async def test_a_call_that_finds_no_connection_in_time_is_told_to_come_back(dsn: str) -> None:
    async with open_pool(dsn, size=1) as pool, trio.open_nursery() as nursery:
        nursery.start_soon(value, pool, "SELECT pg_sleep(2.4)")
        await trio.testing.wait_all_tasks_blocked(0.01)
        with pytest.raises(Unavailable, match="free"):
            await value(pool, "SELECT 1")


async def test_no_database_at_the_start_is_reported_at_once(tmp_path: Any) -> None:
    with pytest.raises(Unavailable, match="cannot be reached"):
        async with open_pool(f"postgresql://postgres@/postgres?host={tmp_path}", size=1, deadline=0.3):
            raise AssertionError("the pool opened")


async def test_a_failed_check_fences_the_whole_pool(pool: ConnectionPool, dsn: str) -> None:
    async def deny(db: Connection) -> None:
        raise Fenced("the term is over")

    with pytest.raises(Fenced, match="term is over"):
        async with open_pool(dsn, size=2, check=deny):
            raise AssertionError("the pool opened")


async def test_a_fenced_pool_refuses_what_waits_and_what_comes(pool: ConnectionPool) -> None:
    pool.fence(Fenced("over"))
    assert pool.fenced.is_set()
    with pytest.raises(Fenced):
        await pool.transact(write, "one")


async def test_postgresql_restarts_under_load(cluster_data: Path) -> None:
    changes: list[tuple[bool, BaseException | None]] = []
    lost: list[BaseException | None] = []
    outcomes: dict[str, set[int]] = {"done": set(), "unavailable": set(), "doubtful": set()}
    server = await trio.to_thread.run_sync(lambda: enter(cluster_data, durable=False))
    try:
        async with open_pool(
            server.dsn,
            size=4,
            on_connected=lambda connected, cause: changes.append((connected, cause)),
            on_lost=lost.append,
        ) as pool:
            await value(pool, "CREATE TABLE log (text text PRIMARY KEY)")
            stopping = trio.Event()

            async def writer(first: int) -> None:
                number = first
                while not stopping.is_set():
                    outcomes[await attempt(pool, number)].add(number)
                    number += 8

            busy = trio.Event()

            async def hold(db: Connection) -> None:
                busy.set()
                await db.execute("SELECT pg_sleep(60)")

            async def be_cut() -> None:
                with pytest.raises(Unavailable):
                    await pool.read(hold)

            async with trio.open_nursery() as nursery:
                for first in range(8):
                    nursery.start_soon(writer, first)
                nursery.start_soon(be_cut)
                await busy.wait()
                await trio.to_thread.run_sync(server.stop)
                await trio.to_thread.run_sync(server.start)
                before = len(outcomes["done"])
                with trio.fail_after(20):
                    while len(outcomes["done"]) < before + 50:
                        await trio.lowlevel.checkpoint()
                stopping.set()
            stored = {int(text) for text in await log(pool)}
    finally:
        await trio.to_thread.run_sync(server.leave)
    assert outcomes["done"] <= stored
    assert not outcomes["unavailable"] & stored
    assert [connected for connected, _ in changes] == [True, False, True]
    assert changes[1][1] is not None
    assert len(lost) >= 4
    assert any(lost)  # the one that was cut amid a statement; PostgreSQL may have found the others idle


async def attempt(pool: ConnectionPool, number: int) -> str:
    try:
        await pool.transact(write, str(number))
    except Unavailable:
        await trio.sleep(0.01)
        return "unavailable"
    except Doubtful:
        return "doubtful"
    return "done"


async def alter(dsn: str, change: str) -> None:
    """Change the database from outside of the pool. Only connections that are opened later see it."""

    async def write(db: Connection) -> None:
        await db.execute("SET TRANSACTION READ WRITE")
        name = await db.fetchval("SELECT current_database()")
        await db.execute(f"ALTER DATABASE {name} {change}")

    await trio.to_thread.run_sync(transact_once, dsn, write)


async def test_after_a_failover_all_connections_find_the_new_primary(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "LOOK_FOR_PRIMARY", 0.0)
    losses: list[object] = []
    await alter(dsn, "SET default_transaction_read_only = on")
    async with open_pool(dsn, size=3, on_lost=losses.append) as pool:
        while pool.connected < pool.size:
            await trio.lowlevel.checkpoint()
        for write_one in (pool.transact, pool.transact_alone):
            with pytest.raises(Unavailable, match="read-only transaction") as refused:
                await write_one(execute, "CREATE TABLE log (text text PRIMARY KEY)")
            assert machine_fault(refused.value) == "PostgreSQL is read-only"
        assert await value(pool, "SELECT 1") == 1
        await alter(dsn, "RESET default_transaction_read_only")
        # Refused, unless it meets a connection that was replaced because of the writes above and opened just now.
        with contextlib.suppress(Unavailable):
            await pool.transact(execute, "CREATE TABLE log (text text PRIMARY KEY)")

        async def all_can_write() -> bool:
            return await every(pool, "SELECT current_setting('transaction_read_only')", "off")

        await until_found(all_can_write)
        await pool.transact(execute, "CREATE TABLE IF NOT EXISTS log (text text PRIMARY KEY)")
    assert losses == []


async def every(pool: ConnectionPool, query: str, wanted: object) -> bool:
    """True if all connections answer so, each asked at the same time as the others."""
    found: list[object] = []

    async def ask(db: Connection) -> None:
        await db.execute("SELECT pg_sleep(0.05)")
        found.append(await db.fetchval(query))

    async with trio.open_nursery() as nursery:
        for _ in range(pool.size):
            nursery.start_soon(pool.read, ask)
    return found == [wanted] * pool.size


async def execute(db: Connection, query: str) -> None:
    await db.execute(query)
