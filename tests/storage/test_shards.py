"""Shards: who owns them, and what a node can commit that was taken over."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import quote

import pytest
import trio

from troupe.storage import statuses
from troupe.storage.engine import lock_waits
from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.database import Connection, NotOwner
from troupe.storage.engine.pool import ConnectionPool, open_pool
from troupe.storage.engine.shards import SHARDS, Epochs, count_lost, moved, shard_of, take_all
from troupe.storage.engine.term import hold_term
from troupe.storage.federation.activities import NO_REMOTE_FOLLOWERS
from troupe.storage.statuses import NewStatus

from ..waiting import until_found
from .conftest import NOW, Stage, new_id

WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 7461006 AND NOT granted"

Epoch = tuple[str | None, int]


async def epochs_of(db: Connection) -> list[Epoch]:
    return [(row["node"], row["epoch"]) for row in await db.fetch("SELECT node, epoch FROM shards ORDER BY shard")]


async def count_waiting(db: Connection) -> int:
    return await db.fetchval(WAITING)


async def take(db: Connection, shard: int) -> int:
    await db.execute("INSERT INTO nodes VALUES ('other', 2, 1, NULL, NULL, false, 1, 1) ON CONFLICT DO NOTHING")
    return await db.fetchval("SELECT epoch FROM take_shards(ARRAY[$1::smallint], 'other')", shard)


async def write(db: Connection, text: str) -> None:
    await db.execute("INSERT INTO tombstones VALUES ($1, NULL, now())", text)


async def written(db: Connection) -> set[str]:
    return {row["uri"] for row in await db.fetch("SELECT uri FROM tombstones")}


@asynccontextmanager
async def owner(dsn: str) -> AsyncGenerator[ConnectionPool]:
    """The pool of a node that owns all shards, without its term: only the epochs refuse it."""
    epochs = await trio.to_thread.run_sync(lambda: transact_once(dsn, take_all, "main"))
    async with open_pool(dsn, size=4, epochs=epochs) as pool:
        yield pool


async def test_a_node_that_is_alone_owns_all_shards_in_a_new_epoch(dsn: str) -> None:
    for epoch in (1, 2):
        async with hold_term(dsn, node="main") as term, open_pool(dsn, size=1) as pool:
            assert await pool.read(epochs_of) == [("main", epoch)] * SHARDS
            assert [term.epochs.entering(shard) for shard in range(SHARDS)] == [(s, epoch) for s in range(SHARDS)]
    async with hold_term(dsn, node="b") as term, open_pool(dsn, size=1) as pool:
        assert await pool.read(epochs_of) == [("b", 3)] * SHARDS
        assert await pool.read(nodes) == [("b", term.number, 0)]


async def nodes(db: Connection) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in await db.fetch("SELECT name, incarnation, number FROM nodes")]


@pytest.mark.parametrize(
    "change", ["DELETE FROM shards WHERE shard < 100", "DELETE FROM shards", "DELETE FROM nodes",
               "UPDATE shards SET epoch = 1000, node = NULL WHERE shard = 7"],
)  # fmt: skip
async def test_a_restart_repairs_the_table_of_shards(dsn: str, change: str) -> None:
    async with hold_term(dsn) as before, open_pool(dsn, size=1, epochs=before.epochs) as old:
        await old.transact(execute, change)
        lost = await old.read(count_lost, [*before.epochs])
        assert lost == (await old.read(count_refused, before.epochs))
    async with hold_term(dsn) as term, open_pool(dsn, size=1, epochs=term.epochs) as pool:
        assert await pool.read(count_lost, [*term.epochs]) == 0
        assert {node for node, _ in await pool.read(epochs_of)} == {"main"}
        assert all(later > earlier for earlier, later in zip(before.epochs, term.epochs, strict=True))
        await pool.transact_in(7, write, "after the restart")


async def execute(db: Connection, statement: str) -> None:
    await db.execute(statement)


async def count_refused(db: Connection, epochs: Epochs) -> int:
    """Return the number of shards that refuse a transaction with these epochs."""
    refused = 0
    for shard in range(SHARDS):
        try:
            await db.fetchval("SELECT enter_shard($1, $2)", *epochs.entering(shard))
        except Exception as error:
            refused += moved(error) is not None
    return refused


def test_an_account_has_one_shard_for_ever() -> None:
    """Shards are in rows of the outbox, and other nodes compute them too: no release may change the function."""
    assert [shard_of(id) for id in (1, 2, 1103, 113_524_903_936_131_072)] == [183, 13, 154, 216]
    assert shard_of(1103) == shard_of("1103")
    assert {shard_of(id) for id in range(10_000)} == {*range(SHARDS)}


async def test_a_takeover_waits_for_a_transaction_of_the_owner(dsn: str) -> None:
    inside, go_on, taken = trio.Event(), trio.Event(), trio.Event()

    async with owner(dsn) as pool, open_pool(dsn, size=2) as other, trio.open_nursery() as nursery:

        async def write_slowly(db: Connection) -> None:
            await write(db, "acknowledged")
            inside.set()
            while not go_on.is_set():
                await db.execute("SELECT pg_sleep(0.01)")

        async def take_over() -> None:
            await other.transact(take, 7)
            assert await other.read(written) == {"acknowledged"}
            taken.set()

        nursery.start_soon(pool.transact_in, 7, write_slowly)
        await inside.wait()
        nursery.start_soon(take_over)
        await until_found(lambda: other.read(count_waiting))
        assert not taken.is_set()
        await pool.transact_in(8, write, "of another shard")
        await pool.transact(delete, "of another shard")
        go_on.set()
        with trio.fail_after(10):
            await taken.wait()
        with pytest.raises(NotOwner, match="shard 7 has epoch 2, not 1"):
            await pool.transact_in(7, write, "too late")
        await pool.transact_in(8, write, "of another shard")
        assert await other.read(written) == {"acknowledged", "of another shard"}


async def test_a_start_that_waits_for_a_lock_says_who_holds_it(
    dsn: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_waits, "REPORT_AFTER", 0.1)
    monkeypatch.setattr(lock_waits, "LOOK_EVERY", 0.05)
    started, said = trio.Event(), ""

    async with open_pool(dsn, size=1, application_name="psql") as other, trio.open_nursery() as nursery:

        async def start() -> None:
            async with hold_term(dsn):
                started.set()

        async def hold_up(db: Connection) -> None:
            nonlocal said
            await db.execute("UPDATE shards SET epoch = 7 WHERE shard = 7")
            nursery.start_soon(start)
            while not said:
                await db.execute("SELECT pg_sleep(0.01)")
                said = capsys.readouterr().err
            assert not started.is_set()

        with trio.fail_after(9):
            await other.transact(hold_up)
            await started.wait()
    assert said.startswith("Waiting for psql, which holds a lock of the database (process ")


async def delete(db: Connection, text: str) -> None:
    await db.execute("DELETE FROM tombstones WHERE uri = $1", text)


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read"])
async def test_an_owner_that_waited_for_a_takeover_is_refused(dsn: str, isolation: str) -> None:
    """The snapshot of the epoch must be of after the wait for the lock, also if the database has another default."""
    dsn = with_isolation(dsn, isolation)
    taking, go_on = trio.Event(), trio.Event()

    async with owner(dsn) as pool, open_pool(dsn, size=2) as other, trio.open_nursery() as nursery:

        async def take_slowly(db: Connection) -> None:
            await take(db, 7)
            taking.set()
            while not go_on.is_set():
                await db.execute("SELECT pg_sleep(0.01)")

        async def write_too_late() -> None:
            with pytest.raises(NotOwner):
                await pool.transact_in(7, write, "too late")

        nursery.start_soon(other.transact, take_slowly)
        await taking.wait()
        nursery.start_soon(write_too_late)
        await until_found(lambda: other.read(count_waiting))
        go_on.set()
    async with open_pool(dsn, size=1) as after:
        assert await after.read(written) == set()


def with_isolation(dsn: str, level: str) -> str:
    """Return the URL with another default of PostgreSQL, as an operator could set it."""
    options = quote("-c default_transaction_isolation=" + level.replace(" ", r"\ "))
    return f"{dsn}{'&' if '?' in dsn else '?'}options={options}"


async def test_a_node_without_a_shard_is_refused(dsn: str) -> None:
    async with owner(dsn), open_pool(dsn, size=1, epochs=Epochs({8: 1})) as pool:
        with pytest.raises(NotOwner):
            await pool.transact_in(7, write, "not mine")
        await pool.transact_in(8, write, "mine")
        assert await pool.read(written) == {"mine"}


def test_the_one_statement_of_a_status_enters_the_shard(stage: Stage) -> None:
    author = stage.account("alice")
    new = NewStatus(new_id(), author.id, "https://troupe.test/1", None, "public", text="late", content="late")
    shard = shard_of(author.id)

    def publish(epoch: int, key: str | None) -> object:
        return stage(statuses.insert_alone, (shard, epoch), new, NOW, key, NOW, [], NO_REMOTE_FOLLOWERS, None)

    for key in (None, "key"):
        with pytest.raises(Exception, match=f"shard {shard} has epoch 0, not 1"):
            publish(1, key)
    assert publish(0, "key") is not None
