"""The term: one node writes, and a node that was taken over from cannot."""

import os
import re
import socket
import threading
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from troupe.storage.engine import migrate, nodes, notices
from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.database import Connection, Doubtful, Fenced, StorageError, Unavailable
from troupe.storage.engine.embedded import enter
from troupe.storage.engine.migrate import Migration, migrations
from troupe.storage.engine.node import Node, parse, this_node
from troupe.storage.engine.pool import ConnectionPool, open_pool
from troupe.storage.engine.term import LOCK, AnotherNode, Term, hold_term, upgrade

from ..waiting import until_none

HOLDERS = """
    SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
    WHERE datname = current_database() AND locktype = 'advisory' AND objid::bigint = $1
"""
LEASES = "application_name LIKE 'troupe/lease%' AND datname = current_database()"


@asynccontextmanager
async def node(dsn: str, **how: Any) -> AsyncGenerator[tuple[Term, ConnectionPool]]:
    async with (
        hold_term(dsn, **how) as term,
        open_pool(dsn, size=2, application_name=term.application_name, check=term.check) as pool,
    ):
        yield term, pool


async def write(db: Connection, text: str) -> None:
    await db.execute("INSERT INTO tombstones VALUES ($1, NULL, now())", text)


async def written(pool: ConnectionPool) -> set[str]:
    async def read(db: Connection) -> set[str]:
        return {row["uri"] for row in await db.fetch("SELECT uri FROM tombstones")}

    return await pool.read(read)


async def test_each_node_begins_a_new_term(dsn: str) -> None:
    async with node(dsn) as (first, _):
        pass
    async with node(dsn) as (second, _):
        assert second.number == first.number + 1


async def test_a_second_node_is_refused(dsn: str) -> None:
    async with node(dsn) as (term, pool):
        with pytest.raises(AnotherNode):
            async with node(dsn):
                raise AssertionError("it started")
        await pool.transact(write, "still")
        assert not term.lost.is_set()


async def test_a_refusal_and_a_takeover_name_the_other_node(dsn: str) -> None:
    me = this_node()
    assert (me.pid, me.host) == (os.getpid(), socket.gethostname())
    async with hold_term(dsn) as first:
        with pytest.raises(AnotherNode, match=re.escape(f"another server runs on this database ({me})")):
            async with hold_term(dsn):
                raise AssertionError("it started")
        assert first.predecessor is None
        async with hold_term(dsn, takeover=True) as second:
            assert second.predecessor == me
            with trio.fail_after(10):
                await first.lost.wait()
            assert f"another server took over the database: {me}" in str(first.reason)


async def test_nodes_of_a_cluster_share_a_term(dsn: str) -> None:
    async with node(dsn, node="n1", shared=True) as (first, _):
        async with node(dsn, node="n2", shared=True) as (second, pool):
            assert (second.number, first.joined, second.joined) == (first.number, False, True)
            await pool.transact(write, "second")
        async with node(dsn, node="n3", shared=True) as (third, pool):
            assert third.number == first.number
            assert await written(pool) == {"second"}
        assert not first.lost.is_set()


async def test_a_server_that_is_alone_and_a_cluster_shut_each_other_out(dsn: str) -> None:
    me = this_node()
    async with hold_term(dsn, node="n1", shared=True), hold_term(dsn, node="n2", shared=True):
        with pytest.raises(AnotherNode, match=re.escape(f"nodes of a cluster run on this database, such as {me}")):
            async with hold_term(dsn):
                raise AssertionError("it started")
    async with node(dsn) as (alone, pool):
        with pytest.raises(AnotherNode, match=re.escape(f"a server without bus_url runs on this database ({me})")):
            async with hold_term(dsn, node="n1", shared=True):
                raise AssertionError("it started")
        await pool.transact(write, "alone")
    async with hold_term(dsn, node="n1", shared=True) as first:
        assert (first.number, first.joined) == (alone.number + 1, False)


async def test_the_first_node_frees_what_the_server_before_has_owned(dsn: str) -> None:
    async with hold_term(dsn, node="main"):
        pass
    await until_none(lambda: trio.to_thread.run_sync(transact_once, dsn, holders))
    async with node(dsn, node="n1", shared=True) as (_, pool):
        assert await pool.read(owners) == {None: 256}
        assert await pool.read(nodes.find, "main") is None


async def owners(db: Connection) -> dict[str | None, int]:
    return {row["node"]: row["count"] for row in await db.fetch("SELECT node, count(*) FROM shards GROUP BY node")}


async def test_a_takeover_ends_all_nodes_of_a_cluster(dsn: str) -> None:
    async with (
        hold_term(dsn, node="n1", shared=True) as first,
        hold_term(dsn, node="n2", shared=True) as second,
        open_pool(dsn, size=1, application_name="troupe/node=n2/1", check=second.check) as pool,
    ):
        await pool.transact(write, "before")
        async with hold_term(dsn, takeover=True):
            with trio.fail_after(10):
                await first.lost.wait()
                await second.lost.wait()
            with pytest.raises((Fenced, Unavailable, Doubtful)):
                await pool.transact(write, "after")


async def test_a_node_waits_while_the_first_node_migrates(dsn: str, older: str) -> None:
    begun, go_on, done, order = threading.Event(), threading.Event(), threading.Event(), list[str]()

    def wait_in_the_middle(step: Migration) -> None:
        begun.set()
        assert go_on.wait(10)
        order.append("migrated")

    def first() -> None:
        async def hold() -> None:
            async with hold_term(dsn, node="n1", shared=True, on_migrated=wait_in_the_middle):
                await trio.to_thread.run_sync(done.wait)

        trio.run(hold)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.to_thread.run_sync, first)
        await trio.to_thread.run_sync(begun.wait)

        @nursery.start_soon
        async def second() -> None:
            async with hold_term(dsn, node="n2", shared=True) as term:
                order.append("joined")
                assert term.joined
                done.set()

        await trio.sleep(0.3)
        assert not order
        go_on.set()
    assert order == ["migrated", "joined"]


async def holders(db: Connection) -> int:
    """The number of connections that hold the lock of the term, or share it."""
    return await db.fetchval(HOLDERS, LOCK)


async def test_a_node_with_a_newer_schema_does_not_join_older_nodes(dsn: str, older: str) -> None:
    async with hold_old_term(dsn, shared=True):
        before = await schema_of(dsn)
        with pytest.raises(AnotherNode, match="nodes of an earlier version run on this database"):
            async with hold_term(dsn, node="n2", shared=True):
                raise AssertionError("it started")
        assert await schema_of(dsn) == before


def test_the_name_of_a_lease_is_read_back_for_any_host_name() -> None:
    node = Node("a-host-with-a-very-long-name-indeed.example.org", 4194304, "2026-11-22T10:00:00Z")
    assert len(node.lease_name()) <= 63
    read = parse(node.lease_name())
    assert read is not None
    assert (read.pid, read.since) == (node.pid, node.since)
    assert node.host.startswith(read.host)
    assert parse("troupe/lease") is None
    assert parse(None) is None


async def schema_of(dsn: str) -> int:
    return await trio.to_thread.run_sync(transact_once, dsn, newest_step)


async def newest_step(db: Connection) -> int:
    return await db.fetchval("SELECT max(number) FROM schema_migrations")


@pytest.fixture
def older(dsn: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database as an older version left it: it lacks the last step, which is a harmless one."""
    steps = migrations()
    step = Migration(len(steps) + 1, "newer", "CREATE TABLE newer (id int)")
    monkeypatch.setattr("troupe.storage.engine.migrate.migrations", lambda: [*steps, step])
    return dsn


async def test_a_refused_node_has_not_migrated(dsn: str, older: str) -> None:
    async with hold_old_term(dsn):
        before = await schema_of(dsn)
        with pytest.raises(AnotherNode):
            async with hold_term(dsn):
                raise AssertionError("it started")
        assert await schema_of(dsn) == before


@asynccontextmanager
async def hold_old_term(dsn: str, **how: Any) -> AsyncGenerator[Term]:
    """Hold the term as a server of the version before, which does not know the last step."""
    with pytest.MonkeyPatch.context() as patch:
        steps = migrate.migrations()[:-1]
        patch.setattr("troupe.storage.engine.migrate.migrations", lambda: steps)
        holding = hold_term(dsn, **how)
        term = await holding.__aenter__()
    try:
        yield term
    finally:
        await holding.__aexit__(None, None, None)


async def test_a_node_migrates_once_it_holds_the_term(dsn: str, older: str) -> None:
    before, told = await schema_of(dsn), list[str]()
    async with hold_term(dsn, on_migrated=lambda step: told.append(step.name)):
        assert await schema_of(dsn) == before + 1
    assert told == ["newer"]


async def test_a_takeover_shuts_the_other_node_out_before_it_migrates(dsn: str, older: str) -> None:
    shut_out: list[bool] = []

    def watch(step: Migration) -> None:
        shut_out.append(leases(dsn) == 1)

    async with hold_old_term(dsn) as first, hold_term(dsn, takeover=True, on_migrated=watch) as second:
        assert second.number > first.number
        assert await schema_of(dsn) == len(migrate.migrations())
        assert shut_out == [True]
        with trio.fail_after(10):
            await first.lost.wait()


async def test_the_schema_is_made_in_an_empty_database(bare_dsn: str) -> None:
    async with hold_term(bare_dsn) as term:
        assert term.number == 1
        assert await schema_of(bare_dsn) == len(migrate.migrations())


async def test_migrating_alone_is_refused_beside_a_node_of_another_version(dsn: str, older: str) -> None:
    async with hold_old_term(dsn):
        before = await schema_of(dsn)
        with pytest.raises(AnotherNode, match=re.escape(str(this_node()))):
            await trio.to_thread.run_sync(upgrade, dsn)
        assert await schema_of(dsn) == before


async def test_migrating_alone_shuts_out_a_node_that_has_only_lost_its_connection(dsn: str, older: str) -> None:
    async with hold_old_term(dsn) as first:
        await trio.to_thread.run_sync(transact_once, dsn, end_leases)
        await trio.to_thread.run_sync(upgrade, dsn)
        with trio.fail_after(10):
            await first.lost.wait()


def leases(dsn: str) -> int:
    """How many nodes are connected. Asked from another thread, because the event loop is busy."""
    query = f"SELECT count(*) FROM pg_stat_activity WHERE {LEASES}"
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(transact_once, dsn, lambda db: db.fetchval(query)).result()


async def end_leases(db: Connection) -> None:
    """End the connections that hold the lock, and return once they are gone."""
    await db.execute(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {LEASES}")


async def test_what_is_required_is_asked_before_anything_is_changed(dsn: str, older: str) -> None:
    async def refuse(db: Connection) -> None:
        raise LookupError("not this one")

    async with hold_old_term(dsn) as first:
        before = await schema_of(dsn)
        with pytest.raises(LookupError):
            async with hold_term(dsn, takeover=True, require=refuse):
                raise AssertionError("it started")
        assert await schema_of(dsn) == before
        assert not first.lost.is_set()


async def test_a_takeover_fences_out_the_first_node(dsn: str) -> None:
    async with node(dsn) as (first_term, first), node(dsn, takeover=True) as (second_term, second):
        assert second_term.number > first_term.number
        with trio.fail_after(10):
            await first_term.lost.wait()
        for _ in range(3):
            with pytest.raises(Fenced):
                await first.transact(write, "stale")
        await second.transact(write, "fresh")
        assert await written(second) == {"fresh"}


async def test_no_write_of_the_first_node_comes_after_the_takeover(dsn: str) -> None:
    """Writers go on while the second node takes over; what it sees first is all that ever comes of them."""
    async with node(dsn) as (term, first), trio.open_nursery() as nursery:

        async def keep_writing(name: str) -> None:
            number = 0
            while not term.lost.is_set():
                number += 1
                try:
                    await first.transact(write, f"{name}/{number}")
                except Fenced:
                    return
                except (Unavailable, Doubtful):
                    await trio.lowlevel.checkpoint()

        for name in "abcd":
            nursery.start_soon(keep_writing, name)
        while len(await written(first)) < 20:
            await trio.lowlevel.checkpoint()
        async with node(dsn, takeover=True) as (_, second):
            seen = await written(second)
            with trio.fail_after(10):
                await term.lost.wait()
            assert await written(second) == seen


async def test_what_others_announce_is_heard(dsn: str) -> None:
    send, receive = trio.open_memory_channel[str | None](10)
    async with hold_term(dsn, on_notice=send.send_nowait):
        await trio.to_thread.run_sync(lambda: transact_once(dsn, notices.send, "token:abc"))
        with trio.fail_after(5):
            assert await receive.receive() == "token:abc"


async def test_a_term_outlives_a_restart_of_postgresql(cluster_data: Path) -> None:
    server = await trio.to_thread.run_sync(lambda: enter(cluster_data, durable=False))
    send, receive = trio.open_memory_channel[str | None](10)
    try:
        await trio.to_thread.run_sync(upgrade, server.dsn)
        async with node(server.dsn, on_notice=send.send_nowait) as (term, pool):
            await trio.to_thread.run_sync(server.stop)
            await trio.to_thread.run_sync(server.start)
            with trio.fail_after(10):
                assert await receive.receive() is None
                await until_written(pool, "again")
            assert not term.lost.is_set()
            with pytest.raises(AnotherNode):
                async with node(server.dsn):
                    raise AssertionError("it started")
    finally:
        await trio.to_thread.run_sync(server.leave)


async def until_written(pool: ConnectionPool, text: str) -> None:
    while True:
        try:
            return await pool.transact(write, text)
        except StorageError:
            await trio.lowlevel.checkpoint()
