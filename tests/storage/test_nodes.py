"""Nodes of a cluster in several sessions: which of them join, which are removed, and which get the shards."""

import random
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import trio

from troupe.storage.engine import nodes
from troupe.storage.engine.database import Connection, Fenced, NotOwner, Removed
from troupe.storage.engine.nodes import UNREAD, ClusterRows, Joined, NodeRow, ShardRow, TooManyNodes, connection_name
from troupe.storage.engine.pool import ConnectionPool, open_pool
from troupe.storage.engine.shards import SHARDS, Epochs, fair_share, take_all

from ..waiting import until_found

WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"
WRITE = "INSERT INTO tombstones VALUES ($1, NULL, now())"
OWNERS = "SELECT node, epoch FROM shards ORDER BY shard"


@pytest.fixture
async def pool(dsn: str) -> AsyncGenerator[ConnectionPool]:
    """Sessions of several nodes."""
    async with open_pool(dsn, size=6) as pool:
        yield pool


async def start(pool: ConnectionPool, name: str) -> Joined:
    """Let a node join, and take its share."""
    joined = await pool.transact(nodes.join, name)
    assert await pool.transact(nodes.take_share, name, joined.incarnation) is not None
    return joined


async def rows_of(pool: ConnectionPool, name: str, joined: Joined) -> ClusterRows:
    rows = await pool.read(nodes.read, name, joined.incarnation, UNREAD)
    assert rows is not None
    return rows


async def row_of(pool: ConnectionPool, name: str) -> NodeRow:
    row = await pool.read(nodes.find, name)
    assert row is not None
    return row


async def owners(pool: ConnectionPool) -> list[tuple[str | None, int]]:
    async def find(db: Connection) -> list[tuple[str | None, int]]:
        return [(row["node"], row["epoch"]) for row in await db.fetch(OWNERS)]

    return await pool.read(find)


async def shares(pool: ConnectionPool) -> Counter[str | None]:
    return Counter(node for node, _ in await owners(pool))


async def count_waiting(db: Connection) -> int:
    return await db.fetchval(WAITING)


async def execute(db: Connection, statement: str) -> None:
    await db.execute(statement)


@asynccontextmanager
async def in_transaction(pool: ConnectionPool, shard: int) -> AsyncGenerator[None]:
    """The block runs while a transaction of the shard's owner is open, and the transaction commits after it."""
    inside, go_on = trio.Event(), trio.Event()

    async def write_slowly(db: Connection) -> None:
        await db.execute(WRITE, "acknowledged")
        inside.set()
        while not go_on.is_set():
            await db.execute("SELECT pg_sleep(0.01)")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(pool.transact_in, shard, write_slowly)
        await inside.wait()
        yield
        go_on.set()


async def test_the_first_node_takes_all_shards(pool: ConnectionPool) -> None:
    joined = await pool.transact(nodes.join, "a")
    assert await shares(pool) == {None: SHARDS}
    taken = await pool.transact(nodes.take_share, "a", joined.incarnation)
    assert taken == [ShardRow(shard, "a", 1) for shard in range(SHARDS)]
    assert await pool.transact(nodes.take_share, "a", joined.incarnation) == []
    rows = await rows_of(pool, "a", joined)
    assert rows.nodes == [NodeRow("a", joined.incarnation, 0, 0, draining=False, joining=False)]
    assert sorted(rows.shards) == taken


async def test_nodes_that_join_at_once_share_no_number_and_have_equal_shares(pool: ConnectionPool) -> None:
    joined: list[Joined] = []

    async def join(name: str) -> None:
        joined.append(await pool.transact(nodes.join, name))

    async with trio.open_nursery() as nursery:
        for name in "abcde":
            nursery.start_soon(join, name)
    assert sorted(node.number for node in joined) == [0, 1, 2, 3, 4]
    assert len({node.incarnation for node in joined}) == 5

    async def take(name: str) -> None:
        await pool.transact(nodes.take_share, name, (await row_of(pool, name)).incarnation)

    async with trio.open_nursery() as nursery:
        for name in "abcde":
            nursery.start_soon(take, name)
    assert sorted((await shares(pool)).values()) == [51, 51, 51, 51, 52]


async def test_a_node_that_joins_late_gets_its_share(pool: ConnectionPool) -> None:
    for name, expected in (("a", [256]), ("b", [128, 128]), ("c", [85, 85, 86]), ("d", [64, 64, 64, 64])):
        before = dict(enumerate(await owners(pool)))
        joined = await start(pool, name)
        after = dict(enumerate(await owners(pool)))
        assert sorted((await shares(pool)).values()) == expected
        # Only its own shards have moved, each to a new epoch.
        assert {shard for shard in after if after[shard] != before[shard]} == {
            shard for shard, (owner, _) in after.items() if owner == name
        }
        assert all(after[shard][1] == before[shard][1] + (after[shard][0] == name) for shard in after)
        assert joined.number == len(expected) - 1


async def test_there_are_63_numbers(pool: ConnectionPool) -> None:
    for number in range(63):
        assert (await pool.transact(nodes.join, f"n{number}")).number == number
    with pytest.raises(TooManyNodes, match="63 nodes"):
        await pool.transact(nodes.join, "one-more")


async def test_a_node_that_joins_again_replaces_its_earlier_process(pool: ConnectionPool) -> None:
    first, other = await start(pool, "a"), await start(pool, "b")
    before = await owners(pool)
    again = await pool.transact(nodes.join, "a")
    assert again.replaced == NodeRow("a", first.incarnation, 0, 0, draining=False, joining=False)
    # The earlier process may still make ids with its number.
    assert (again.number, again.incarnation > other.incarnation) == (2, True)
    assert await owners(pool) == [(None, epoch + 1) if owner == "a" else (owner, epoch) for owner, epoch in before]
    for call in (nodes.read, nodes.beat):
        assert await pool.transact(call, "a", first.incarnation, UNREAD) is None
    assert await pool.transact(nodes.take_share, "a", first.incarnation) is None
    assert not await pool.transact(nodes.drain, "a", first.incarnation)
    assert not await pool.transact(nodes.leave, "a", first.incarnation)
    assert (await row_of(pool, "a")).incarnation == again.incarnation


async def test_no_incarnation_is_given_twice(pool: ConnectionPool) -> None:
    """A process that was removed must not find the row of its successor."""
    given: list[int] = []
    for _ in range(3):
        joined = await start(pool, "a")
        given.append(joined.incarnation)
        assert await pool.transact(nodes.leave, "a", joined.incarnation)
    await pool.transact(take_all, "a")
    given.append((await row_of(pool, "a")).incarnation)
    given.append((await start(pool, "a")).incarnation)
    assert given == sorted(set(given))


async def test_of_two_observers_one_removes_a_dead_node(pool: ConnectionPool) -> None:
    a, b, c = [await start(pool, name) for name in "abc"]
    dead = await row_of(pool, "a")
    results: list[list[ShardRow] | None] = []

    async def remove(name: str, observer: Joined) -> None:
        results.append(await pool.transact(nodes.remove, dead, name, observer.incarnation))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(remove, "b", b)
        nursery.start_soon(remove, "c", c)
    (taken,) = (result for result in results if result is not None)
    assert len(results) == 2
    assert len(taken) == 86
    assert await pool.transact(nodes.beat, "a", a.incarnation, UNREAD) is None
    for name, node in (("b", b), ("c", c)):
        await pool.transact(nodes.take_share, name, node.incarnation)
    assert await shares(pool) == {"b": 128, "c": 128}


async def test_a_node_that_beats_in_time_stays(pool: ConnectionPool) -> None:
    a, b = await start(pool, "a"), await start(pool, "b")
    seen = await row_of(pool, "a")
    await pool.transact_alone(nodes.beat, "a", a.incarnation, UNREAD)
    assert await pool.transact(nodes.remove, seen, "b", b.incarnation) is None
    assert await shares(pool) == {"a": 128, "b": 128}


async def test_a_node_that_was_removed_removes_nobody(pool: ConnectionPool) -> None:
    await start(pool, "a")
    b = await start(pool, "b")
    seen = {name: await row_of(pool, name) for name in "ab"}
    assert await pool.transact(nodes.remove, seen["a"], "b", b.incarnation) is not None
    assert await pool.transact(nodes.remove, seen["b"], "a", seen["a"].incarnation) is None
    assert await shares(pool) == {"b": SHARDS}


async def test_the_row_of_a_server_that_was_alone_is_removed_like_another(pool: ConnectionPool) -> None:
    await pool.transact(take_all, "main")
    joined = await pool.transact(nodes.join, "a")
    alone = await row_of(pool, "main")
    assert alone.beat is None
    freed = await pool.transact(nodes.remove, alone, "a", joined.incarnation)
    # A node that joins takes no shards yet.
    assert freed == [ShardRow(shard, None, 2) for shard in range(SHARDS)]


async def test_a_server_that_is_alone_takes_the_shards_of_a_cluster(pool: ConnectionPool) -> None:
    for name in "abc":
        await start(pool, name)
    before = await owners(pool)
    await pool.transact(take_all, "a")
    assert await shares(pool) == {"a": SHARDS}
    assert all(now > was for (_, now), (_, was) in zip(await owners(pool), before, strict=True))
    assert await row_of(pool, "a") == NodeRow("a", 4, 0, None, draining=False, joining=False)


async def test_a_node_that_drains_takes_nothing_and_gives_all(pool: ConnectionPool) -> None:
    a, b = await start(pool, "a"), await start(pool, "b")
    c = await pool.transact(nodes.join, "c")
    assert await pool.transact(nodes.drain, "a", a.incarnation)
    assert await pool.transact(nodes.take_share, "a", a.incarnation) == []
    await pool.transact(nodes.take_share, "c", c.incarnation)
    await pool.transact(nodes.take_share, "b", b.incarnation)
    assert await shares(pool) == {"b": 128, "c": 128}
    assert await pool.transact(nodes.leave, "a", a.incarnation)
    assert [row.name for row in (await rows_of(pool, "b", b)).nodes] == ["b", "c"]


async def test_a_node_that_leaves_at_once_frees_its_shards(pool: ConnectionPool) -> None:
    a, b = await start(pool, "a"), await start(pool, "b")
    version = (await rows_of(pool, "b", b)).version
    assert await pool.transact(nodes.leave, "a", a.incarnation)
    rows = await pool.transact_alone(nodes.beat, "b", b.incarnation, version)
    assert rows is not None
    assert Counter(shard.node for shard in rows.shards) == {None: 128, "b": 128}
    assert len(await pool.transact(nodes.take_share, "b", b.incarnation) or ()) == 128


async def test_a_beat_brings_the_map_only_when_it_has_changed(pool: ConnectionPool) -> None:
    a = await start(pool, "a")
    rows = await pool.transact_alone(nodes.beat, "a", a.incarnation, UNREAD)
    assert rows is not None
    again = await pool.transact_alone(nodes.beat, "a", a.incarnation, rows.version)
    assert again is not None
    assert (len(rows.shards), again.shards, again.version) == (SHARDS, [], rows.version)
    await start(pool, "b")
    changed = await pool.transact_alone(nodes.beat, "a", a.incarnation, rows.version)
    assert changed is not None
    assert Counter(shard.node for shard in changed.shards) == {"a": 128, "b": 128}


@pytest.mark.parametrize("way", ["share", "removal", "join", "leave"])
async def test_a_take_waits_for_a_transaction_of_the_owner(pool: ConnectionPool, dsn: str, way: str) -> None:
    """Meanwhile beats, and transactions of other shards, go on."""
    a, b = await start(pool, "a"), await pool.transact(nodes.join, "b")
    silent = await row_of(pool, "a")
    works = {
        "share": partial(nodes.take_share, name="b", incarnation=b.incarnation),
        "removal": partial(nodes.remove, silent=silent, name="b", incarnation=b.incarnation),
        "join": partial(nodes.join, name="a"),
        "leave": partial(nodes.leave, name="a", incarnation=a.incarnation),
    }
    done = trio.Event()

    async def take() -> None:
        await pool.transact(works[way])
        done.set()

    async with open_pool(dsn, size=3, epochs=Epochs(dict.fromkeys(range(SHARDS), 1))) as own:
        async with trio.open_nursery() as nursery, in_transaction(own, 255):
            nursery.start_soon(take)
            await until_found(lambda: pool.read(count_waiting))
            assert not done.is_set()
            assert await pool.transact_alone(nodes.beat, "b", b.incarnation, UNREAD) is not None
            assert a.incarnation == silent.incarnation
        assert done.is_set()
        with pytest.raises(NotOwner, match="shard 255 has epoch 2, not 1"):
            await own.transact_in(255, execute, "SELECT")


async def test_the_connections_of_a_frozen_node_are_ended(pool: ConnectionPool, dsn: str) -> None:
    """A transaction that its process has left open would hold up the take of its shards for ever."""
    a, b = await start(pool, "a"), await start(pool, "b")
    silent, taken = await row_of(pool, "a"), trio.Event()
    shard = next(number for number, (owner, _) in enumerate(await owners(pool)) if owner == "a")
    names = {name: connection_name(name, node.incarnation) for name, node in (("a", a), ("b", b))}

    async def take() -> None:
        assert await pool.transact(nodes.remove, silent, "b", b.incarnation)
        taken.set()

    async with (
        open_pool(dsn, size=1, application_name=names["a"], epochs=Epochs({shard: 1})) as frozen,
        open_pool(dsn, size=1, application_name=names["b"]) as other,
        trio.open_nursery() as nursery,
    ):
        process = await other.read(find_process)

        async def hold(db: Connection) -> None:
            await db.execute(WRITE, "never acknowledged")
            nursery.start_soon(take)
            await db.execute("SELECT pg_sleep(60)")

        async def write() -> None:
            with pytest.raises(Exception, match="connection was"):
                await frozen.transact_in(shard, hold)

        nursery.start_soon(write)
        await until_found(lambda: pool.read(count_waiting))
        await pool.read(nodes.end_connections, "a", a.incarnation + 1)
        assert not taken.is_set()
        await pool.read(nodes.end_connections, "a", a.incarnation)
        with trio.fail_after(10):
            await taken.wait()
        assert await other.read(find_process) == process


@asynccontextmanager
async def pool_of(dsn: str, node: Joined) -> AsyncGenerator[ConnectionPool]:
    """The pool of a node without shards, as after the end of its connections: it has opened new ones."""
    own = Epochs({})
    own.incarnation = node.incarnation
    async with open_pool(dsn, size=2, epochs=own) as pool:
        yield pool


async def written(db: Connection) -> set[str]:
    return {row["uri"] for row in await db.fetch("SELECT uri FROM tombstones")}


@pytest.mark.parametrize("way", ["removal", "join", "leave"])
async def test_a_transaction_outside_of_shards_commits_before_the_row_of_its_node_is_deleted(
    pool: ConnectionPool, dsn: str, way: str
) -> None:
    """Meanwhile the node beats, and others of its transactions go on."""
    a, b = await start(pool, "a"), await start(pool, "b")
    silent, inside, go_on, gone = await row_of(pool, "a"), trio.Event(), trio.Event(), trio.Event()
    works: dict[str, Callable[[Connection], Awaitable[object]]] = {
        "removal": partial(nodes.remove, silent=silent, name="b", incarnation=b.incarnation),
        "join": partial(nodes.join, name="a"),
        "leave": partial(nodes.leave, name="a", incarnation=a.incarnation),
    }

    async def write_slowly(db: Connection) -> None:
        await db.execute(WRITE, "acknowledged")
        inside.set()
        while not go_on.is_set():
            await db.execute("SELECT pg_sleep(0.01)")

    async def remove() -> None:
        await pool.transact(works[way])
        assert await pool.read(written) == {"acknowledged", "of another one"}
        gone.set()

    async with pool_of(dsn, a) as own, trio.open_nursery() as nursery:
        nursery.start_soon(own.transact, write_slowly)
        await inside.wait()
        if way != "removal":  # which compares the beat
            assert await own.transact_checked(nodes.beat, "a", a.incarnation, UNREAD) is not None
        await own.transact_alone(write, "of another one")
        nursery.start_soon(remove)
        await until_found(lambda: pool.read(count_waiting))
        assert not gone.is_set()
        go_on.set()
        with trio.fail_after(10):
            await gone.wait()
        with pytest.raises(Removed):
            await own.transact(write, "too late")
    assert await pool.read(written) == {"acknowledged", "of another one"}


async def write(db: Connection, text: str) -> None:
    await db.execute(WRITE, text)


@pytest.mark.parametrize("call", ["transact", "transact_alone"])
async def test_a_transaction_that_has_waited_for_the_removal_of_its_node_is_refused(
    pool: ConnectionPool, dsn: str, call: str
) -> None:
    """Then the process can't even read any more, and must end."""
    a, b = await start(pool, "a"), await start(pool, "b")
    silent, inside, go_on = await row_of(pool, "a"), trio.Event(), trio.Event()

    async def remove_slowly(db: Connection) -> None:
        assert await nodes.remove(db, silent, "b", b.incarnation) is not None
        inside.set()
        while not go_on.is_set():
            await db.execute("SELECT pg_sleep(0.01)")

    async def write_too_late(own: ConnectionPool) -> None:
        with pytest.raises(Removed, match="start it again"):
            await getattr(own, call)(write, "too late")

    async with pool_of(dsn, a) as own:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pool.transact, remove_slowly)
            await inside.wait()
            nursery.start_soon(write_too_late, own)
            await until_found(lambda: pool.read(count_waiting))
            go_on.set()
        assert own.fenced.is_set()
        with pytest.raises(Fenced, match="start it again"):
            await own.read(written)
    assert await pool.read(written) == set()


async def test_only_nodes_of_a_cluster_look_for_their_row(pool: ConnectionPool, dsn: str) -> None:
    """A server that is alone sends nothing more than its own statements."""
    joined = await start(pool, "a")
    found: dict[str, list[str]] = {}
    for name, incarnation in (("alone", None), ("a", joined.incarnation)):
        own = Epochs(dict.fromkeys(range(SHARDS), 1))
        own.incarnation = incarnation
        async with open_pool(dsn, size=1, epochs=own) as sending:
            found[name] = await sending.read(note_statements)
            for call in (sending.transact, sending.transact_alone, sending.transact_checked):
                await call(write, f"{name} {call.__name__}")
            await sending.transact_in(7, write, f"{name} in a shard")
    look = f"BEGIN; SELECT true FROM nodes WHERE incarnation = {joined.incarnation} FOR KEY SHARE"
    enter = "BEGIN; SELECT enter_shard(7::smallint, 1)"
    assert found["alone"] == ["BEGIN", WRITE, "COMMIT", WRITE, WRITE, enter, WRITE, "COMMIT"]
    assert found["a"] == [look, WRITE, "COMMIT", look, WRITE, "COMMIT", WRITE, enter, WRITE, "COMMIT"]


async def note_statements(db: Any) -> list[str]:
    """Return a list to which the statements of this connection are added from now on."""
    sent: list[str] = []

    def note(record: Any) -> None:
        sent.append(record.query)

    db.add_query_logger(note)
    return sent


async def find_process(db: Connection) -> int:
    return await db.fetchval("SELECT pg_backend_pid()")


def test_shares_are_fair_in_every_order() -> None:
    """Nodes that know of each other take their shares in any order; then none has anything more to take."""
    chance = random.Random(7)
    for _ in range(300):
        active = [*"abcdefg"][: chance.randint(1, 7)]
        owners: list[str | None] = [chance.choice([*active, active[0], "gone", None]) for _ in range(SHARDS)]
        for name in chance.sample(active, len(active)):
            share = fair_share(name, owners, active)
            assert all(owners[shard] != name for shard in share)
            for shard in share:
                owners[shard] = name
        counts = Counter(owners)
        assert set(counts) == set(active)
        assert max(counts.values()) - min(counts.values()) <= 1
        assert not any(fair_share(name, owners, active) for name in active)
        assert fair_share("gone", owners, active) == []


def test_a_share_begins_with_free_shards() -> None:
    owners = ["a"] * 86 + ["b"] * 85 + ["c"] * 85
    assert not any(fair_share(name, owners, [*"abc"]) for name in "abc")
    assert len(fair_share("d", owners, [*"abcd"])) == 64
    assert fair_share("a", [None, *owners[1:]], [*"abc"]) == [0]
    assert fair_share("d", owners, [*"bcd"])[:85] == [*range(85)]


def test_epochs_change_while_a_node_runs() -> None:
    own = Epochs({7: 3})
    assert (own.owns(7), own.took(7), own.owns(8), own.entering(8)) == (True, False, False, (8, -1))
    own.put(8, 5)
    assert (own.owns(8), own.took(8), own.entering(8)) == (True, True, (8, 5))
    own.lose(8)
    own.lose(7)
    assert (own.owns(8), own.took(8), own.owns(7), own.entering(8)) == (False, False, False, (8, -1))
    own.put(7, 9)
    assert (own.took(7), [*own][7]) == (True, 9)
