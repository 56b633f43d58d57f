"""The databases of several nodes in one run: they have the same rows, and each owns shards in its own epochs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

import pytest
import trio

from troupe.storage.engine.database import Connection, NotOwner, StorageError, Unavailable
from troupe.storage.engine.shards import SHARDS, Epochs
from troupe.supervision.testing import Fault, LockstepDatabase, Planned, Point, Run
from troupe.supervision.testing.faults import Plan, never
from troupe.supervision.testing.overlapping import SESSIONS, OverlappingDatabase
from troupe.supervision.testing.series import PlayedSeed, Series
from troupe.supervision.testing.stage import sandbox
from troupe.supervision.testing.stage.postgres import overlapping_sessions

SHARD = 7
MINE = Epochs(dict.fromkeys(range(SHARDS), 0))
INSERT = """
    INSERT INTO tags (id, name, display_name, created_at)
    SELECT coalesce(max(id), 0) + 1, $1, $1, '2026-05-04' FROM tags
"""
APPEND = "UPDATE tags SET display_name = display_name || $1 WHERE name = 'a'"
NODE = "INSERT INTO nodes VALUES ($1, 1, $2, NULL, NULL, false, 1, 1)"
TAKE = "SELECT epoch FROM take_shards(ARRAY[$1::smallint], $2)"
TAKE_ROW = "DELETE FROM tags WHERE id = (SELECT id FROM tags ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING name"
# As the statement of a plain post: the check is a part of it.
ALONE = """
    WITH entered AS MATERIALIZED (SELECT enter_shard($2::smallint, $3::bigint))
    UPDATE tags SET display_name = display_name || $1 FROM entered WHERE name = 'a'
"""


class World:
    """Two nodes on one database, which has a row `a`. The first owns all shards in epoch 0."""

    def __init__(self, run: Run, one: LockstepDatabase, other: LockstepDatabase) -> None:
        self.run = run
        self.one = one
        self.other = other
        one.arrange(prepare)

    @property
    def stored(self) -> str:
        return self.one.rows("SELECT display_name FROM tags WHERE name = 'a'")[0]["display_name"]

    async def take(self) -> None:
        """Have the other node take the shard."""
        epoch = await self.other.transact(take)
        self.other.epochs = Epochs({SHARD: epoch})


@asynccontextmanager
async def in_lockstep(run: Run) -> AsyncGenerator[World]:
    yield World(run, run.open_database(sandbox, "n1 ", MINE), run.open_database(sandbox, "n2 ", Epochs({})))


@asynccontextmanager
async def overlapping(run: Run) -> AsyncGenerator[World]:
    one = run.open_overlapping(overlapping_sessions, "n1 ", MINE)
    yield World(run, one, run.open_overlapping(overlapping_sessions, "n2 ", Epochs({})))


WORLDS = pytest.mark.parametrize("world", [in_lockstep, overlapping])
Scenario = Callable[[World], Awaitable[None]]
WorldOf = Callable[[Run], AbstractAsyncContextManager[World]]


async def prepare(db: Connection) -> None:
    await db.execute(INSERT, "a")
    await db.execute(NODE, "n1", 1)
    await db.execute(NODE, "n2", 2)


async def append(db: Connection, letter: str) -> None:
    await db.execute(APPEND, letter)


async def append_twice(db: Connection, letter: str) -> None:
    await db.execute(APPEND, letter)
    await db.execute(APPEND, letter)


async def append_alone(db: Connection, letter: str, entering: tuple[int, int]) -> None:
    await db.execute(ALONE, letter, *entering)


async def take(db: Connection) -> int:
    return await db.fetchval(TAKE, SHARD, "n2")


def play(scenario: Scenario, world: WorldOf, *, seed: int = 0, plan: Plan = never) -> PlayedSeed:
    played = Series(scenario, world).play(seed, "random", plan)
    assert played.error is None, played.error
    return played


@WORLDS
def test_nodes_see_the_same_rows_and_each_has_its_own_name_in_the_trace(world: WorldOf) -> None:
    async def scenario(world: World) -> None:
        await world.one.transact(append, "x")
        await world.other.transact(append, "y")
        assert world.stored == "axy"
        assert world.other.rows("SELECT display_name FROM tags WHERE name = 'a'")[0]["display_name"] == "axy"

    committed = [line.what for line in play(scenario, world).trace if "committed" in line.what]
    assert committed == ["has committed: n1 append", "has committed: n2 append"]


@WORLDS
def test_only_the_owner_of_a_shard_writes_to_it(world: WorldOf) -> None:
    async def scenario(world: World) -> None:
        await world.one.transact_in(SHARD, append, "x")
        await world.one.transact_alone(append_alone, "y", world.one.entering(SHARD))
        with pytest.raises(NotOwner):
            await world.other.transact_in(SHARD, append, "1")
        with pytest.raises(NotOwner, match="shard 7 has epoch 0, not -1"):
            await world.other.transact_alone(append_alone, "2", world.other.entering(SHARD))
        await world.take()
        assert world.other.entering(SHARD) == (SHARD, 1)
        await world.other.transact_in(SHARD, append, "z")
        await world.other.transact_alone(append_alone, "!", world.other.entering(SHARD))
        with pytest.raises(NotOwner, match="shard 7 has epoch 1, not 0"):
            await world.one.transact_in(SHARD, append, "3")
        with pytest.raises(NotOwner):
            await world.one.transact_alone(append_alone, "4", world.one.entering(SHARD))
        await world.one.transact_in(SHARD + 1, append, "?")
        assert world.stored == "axyz!?"

    assert "has undone: n1 append: NotOwner" in [line.what for line in play(scenario, world).trace]


@WORLDS
def test_a_database_without_epochs_enters_no_shard(world: WorldOf) -> None:
    async def scenario(world: World) -> None:
        await world.take()
        world.one.epochs = None
        assert world.one.entering(SHARD) == (SHARD, 0)
        await world.one.transact_in(SHARD, append, "x")
        assert world.stored == "ax"

    play(scenario, world)


@WORLDS
def test_an_epoch_is_read_when_the_transaction_begins_and_the_same_at_each_try(world: WorldOf) -> None:
    async def scenario(world: World) -> None:
        read: list[int] = []

        class Changing:
            incarnation: int | None = None

            def entering(self, shard: int) -> tuple[int, int]:
                read.append(shard)
                return shard, 0

        async def write() -> None:
            await world.one.transact_in(SHARD, append, "x")

        world.one.epochs = Changing()
        async with world.run.together() as go:
            go(write)
            assert read == []
        assert read == [SHARD]

    play(scenario, world, plan=Planned([Point(Fault.CONFLICT, "n1 append", 1)]))


@pytest.mark.parametrize(("fault", "stored"), [
    (Fault.LOST, "a"), (Fault.DOUBT_DONE, "ax"), (Fault.DOUBT_UNDONE, "a"), (Fault.CONFLICT, "ax"), (Fault.AWAY, "a"),
])  # fmt: skip
@WORLDS
def test_faults_strike_a_transaction_in_a_shard(world: WorldOf, fault: Fault, stored: str) -> None:
    async def scenario(world: World) -> None:
        try:
            await world.one.transact_in(SHARD, append, "x")
        except StorageError:
            assert fault is not Fault.CONFLICT
        assert world.stored == stored

    assert play(scenario, world, plan=Planned([Point(fault, "n1 append", 1)])).struck != []


def test_a_takeover_waits_for_a_transaction_of_the_owner_which_is_the_last() -> None:
    async def scenario(world: World) -> None:
        async def write() -> None:
            with suppress(NotOwner):
                for _ in range(5):
                    await world.one.transact_in(SHARD, append_twice, "x")

        async def take_over() -> None:
            for _ in range(world.run.random.randrange(20)):
                await trio.lowlevel.checkpoint()
            await world.take()
            before = world.stored
            await world.other.transact_in(SHARD, append, "y")
            assert world.stored == before + "y"

        async with world.run.together() as go:
            go(write)
            go(take_over)
        assert world.stored.endswith("y")
        assert world.stored.count("x") % 2 == 0
        assert isinstance(world.other, OverlappingDatabase)
        world.run.sometimes(world.other.waits > 0, "the takeover has waited")
        world.run.sometimes(world.stored.count("x") > 2, "the owner has written before")

    series = Series(scenario, overlapping)
    assert series.play_all(range(30), ["random"]) is None
    assert series.sometimes.never == []


def test_a_takeover_waits_for_a_frozen_owner_in_a_transaction() -> None:
    async def scenario(world: World) -> None:
        async def write() -> None:
            await world.one.transact_in(SHARD, append_twice, "x")

        async def take_over() -> None:
            await world.take()
            world.run.note(f"has taken {world.stored}")

        world.run.add_label("n1 ")
        async with world.run.together() as go:
            go(write, name="n1 writer")
            for _ in range(world.run.random.randrange(12)):
                await trio.lowlevel.checkpoint()
            world.run.freeze("n1 ")
            go(take_over, name="n2 taker")
            await trio.sleep(1)
            world.run.thaw("n1 ")

    notes: set[tuple[float, str]] = set()
    for seed in range(30):
        first = Series(scenario, overlapping).play(seed, "random", never)
        assert first.error is None or isinstance(first.error, NotOwner), first.error
        notes.update((line.at, line.what) for line in first.trace if line.what.startswith("has taken"))
    assert notes == {(0.0, "has taken a"), (0.0, "has taken axx"), (1.0, "has taken axx")}


def test_rows_that_another_node_has_locked_are_skipped() -> None:
    async def scenario(world: World) -> None:
        async def claim(db: Connection) -> str | None:
            return await db.fetchval(TAKE_ROW)

        taken: list[str | None] = []

        async def taker(database: LockstepDatabase) -> None:
            taken.append(await database.transact(claim))

        world.one.arrange(insert, "b")
        async with world.run.together() as go:
            go(taker, world.one, name="n1")
            go(taker, world.other, name="n2")
        assert sorted(map(str, taken)) == ["a", "b"]
        assert isinstance(world.one, OverlappingDatabase)
        assert world.one.waits == 0
        world.run.sometimes(taken == ["b", "a"], "the second row was taken first")

    series = Series(scenario, overlapping)
    assert series.play_all(range(30), ["random"]) is None
    assert series.sometimes.never == []


async def insert(db: Connection, name: str) -> None:
    await db.execute(INSERT, name)


@WORLDS
def test_the_death_of_a_node_ends_no_work_of_the_others(world: WorldOf) -> None:
    async def scenario(world: World) -> None:
        async def write(database: LockstepDatabase, letter: str) -> None:
            try:
                await database.transact(append_twice, letter)
            except Unavailable:
                world.run.note("has died")
                assert letter != "y"

        async with world.run.together() as go:
            for letter in "xx":
                go(write, world.one, letter)
            go(write, world.other, "y")
            for _ in range(world.run.random.randrange(12)):
                await trio.lowlevel.checkpoint()
            world.one.cut()
        assert world.stored.count("y") == 2
        assert world.stored.count("x") in (0, 2, 4)
        world.one.restore()
        await world.one.transact(append, "z")
        assert world.stored.endswith("z")

    played = [play(scenario, world, seed=seed) for seed in range(20)]
    died = sum(any(line.what == "has died" for line in one.trace) for one in played)
    assert died > 3 if world is overlapping else died == 0


def test_a_node_that_dies_while_it_waits_for_a_lock_of_a_frozen_node_is_dead_at_once() -> None:
    async def scenario(world: World) -> None:
        ended: list[float] = []

        async def write(database: LockstepDatabase, letter: str) -> None:
            try:
                await database.transact(append_twice, letter)
            except Unavailable:
                ended.append(trio.current_time())

        assert isinstance(world.one, OverlappingDatabase)
        world.run.add_label("n1 ")
        async with world.run.together() as go:
            go(write, world.one, "x", name="n1 writer")
            for _ in range(world.run.random.randrange(8)):
                await trio.lowlevel.checkpoint()
            world.run.freeze("n1 ")
            go(write, world.other, "y", name="n2 writer")
            await trio.sleep(1)
            if world.one.waits:
                world.other.cut()
                await trio.sleep(1)
                assert ended == [1.0]
                world.run.sometimes(True, "has died while it waited")
            world.run.thaw("n1 ")
        assert world.stored.count("x") == 2
        assert world.stored.count("y") == (0 if ended else 2)
        world.other.restore()
        await world.other.transact(append, "z")

    series = Series(scenario, overlapping)
    assert series.play_all(range(20), ["random"]) is None
    assert series.sometimes.never == []


def test_a_frozen_node_takes_no_session_of_the_others() -> None:
    async def scenario(world: World) -> None:
        async def read(db: Connection) -> None:
            await db.fetchval("SELECT 1")
            await db.fetchval("SELECT 1")

        async def reader(database: LockstepDatabase) -> None:
            await database.read(read)

        world.run.add_label("n1 ")
        async with world.run.together() as go:
            for _ in range(2 * SESSIONS):
                go(reader, world.one, name="n1 reader")
            for _ in range(world.run.random.randrange(8)):
                await trio.lowlevel.checkpoint()
            world.run.freeze("n1 ")
            async with world.run.together() as others:
                for _ in range(2 * SESSIONS):
                    others(reader, world.other, name="n2 reader")
            assert trio.current_time() == 0.0
            world.run.thaw("n1 ")

    assert Series(scenario, overlapping).play_all(range(20), ["random"]) is None


@WORLDS
def test_equal_seeds_give_equal_traces(world: WorldOf) -> None:
    async def scenario(world: World) -> None:
        async def write(database: LockstepDatabase, letter: str) -> None:
            for _ in range(3):
                try:
                    await database.transact_in(SHARD, append_twice, letter)
                except NotOwner:
                    await trio.lowlevel.checkpoint()

        async with world.run.together() as go:
            for letter in "xyz":
                go(write, world.one, letter, name=letter)
                go(write, world.other, letter.upper(), name=letter.upper())
            go(world.take)
        world.run.note(world.stored)

    digests = [play(scenario, world, seed=seed).outcome.digest for seed in range(12)]
    assert digests == [play(scenario, world, seed=seed).outcome.digest for seed in range(12)]
    assert len(set(digests)) > 8
