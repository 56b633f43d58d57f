"""The term: one node writes, and a node that was taken over from cannot."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from troupe.storage import notices
from troupe.storage.connect import transact_once
from troupe.storage.embedded import enter
from troupe.storage.engine import Connection, Doubtful, Fenced, StorageError, Unavailable
from troupe.storage.migrate import upgrade
from troupe.storage.pool import Pool, open_pool
from troupe.storage.term import AnotherNode, Term, hold_term


@asynccontextmanager
async def node(dsn: str, **how: Any) -> AsyncIterator[tuple[Term, Pool]]:
    async with (
        hold_term(dsn, **how) as term,
        open_pool(dsn, size=2, application_name=term.application_name, check=term.check) as pool,
    ):
        yield term, pool


async def write(db: Connection, text: str) -> None:
    await db.execute("INSERT INTO tombstones VALUES ($1, NULL, now())", text)


async def written(pool: Pool) -> set[str]:
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
        await trio.to_thread.run_sync(lambda: transact_once(dsn, notices.announce, "token:abc"))
        with trio.fail_after(5):
            assert await receive.receive() == "token:abc"


async def test_a_term_outlives_a_restart_of_postgresql(data: Path) -> None:
    server = await trio.to_thread.run_sync(lambda: enter(data, durable=False))
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


async def until_written(pool: Pool, text: str) -> None:
    while True:
        try:
            return await pool.transact(write, text)
        except StorageError:
            await trio.lowlevel.checkpoint()
