"""The database of the simulation kit whose transactions overlap."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import trio

from troupe.storage.engine.database import Connection, Doubtful, Unavailable
from troupe.supervision.testing import Budget, Fault, Planned, Point, Run
from troupe.supervision.testing.faults import Plan, never
from troupe.supervision.testing.overlapping import OverlappingDatabase
from troupe.supervision.testing.series import PlayedSeed, Series
from troupe.supervision.testing.stage.postgres import overlapping_sessions

SEEDS = range(12)
INSERT = """
    INSERT INTO tags (id, name, display_name, created_at)
    SELECT coalesce(max(id), 0) + 1, $1, $1, '2026-05-04' FROM tags
"""
ADD = "UPDATE tags SET display_name = display_name || $2 WHERE name = $1 RETURNING display_name"


class World:
    """A run with two rows, `a` and `b`."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.database: OverlappingDatabase = run.open_overlapping(overlapping_sessions)
        self.database.arrange(insert, "a")
        self.database.arrange(insert, "b")

    def stored(self) -> dict[str, str]:
        return {row["name"]: row["display_name"] for row in self.database.rows("SELECT * FROM tags ORDER BY name")}


@asynccontextmanager
async def world(run: Run) -> AsyncGenerator[World]:
    yield World(run)


async def insert(db: Connection, name: str) -> None:
    await db.execute(INSERT, name)


def play(scenario: Callable[[World], Awaitable[None]], *, seed: int = 0, plan: Plan = never) -> PlayedSeed:
    return Series(scenario, world).play(seed, "random", plan)


async def add(db: Connection, names: str, letter: str) -> None:
    for name in names:
        await db.fetchval(ADD, name, letter)


async def look_then_write(db: Connection, name: str, letter: str, lock: str) -> None:
    """Read a row, and write what follows from it: another transaction must not write in between."""
    found = await db.fetchval(f"SELECT display_name FROM tags WHERE name = $1 {lock}", name)
    await db.execute("UPDATE tags SET display_name = $2 WHERE name = $1", name, found + letter)


async def write(world: World, names: str, letter: str) -> None:
    await world.database.transact(add, names, letter)


async def two_writers(world: World) -> None:
    async with world.run.together() as go:
        for letter in "xyz":
            go(write, world, "ab", letter, name=letter)
    a, b = world.stored().values()
    world.run.note(f"{a} {b} after {world.database.waits} waits")
    assert (a[1:], sorted(a[1:])) == (b[1:], [*"xyz"])
    world.run.sometimes(world.database.waits > 0, "a statement has waited")


def test_a_statement_waits_for_the_lock_of_another_transaction() -> None:
    series = Series(two_writers, world)
    assert series.play_all(SEEDS, ["random"]) is None
    assert series.sometimes.never == []


def test_a_seed_decides_everything_although_statements_wait() -> None:
    """PostgreSQL's backends run beside each other, yet the order of all answers is that of the seed."""
    for seed in SEEDS:
        assert len({play(two_writers, seed=seed).outcome.digest for _ in range(3)}) == 1
    assert len({play(two_writers, seed=seed).outcome.digest for seed in SEEDS}) > 6


def test_a_circle_of_waits_is_broken_and_the_undone_transaction_is_tried_again() -> None:
    async def scenario(world: World) -> None:
        async with world.run.together() as go:
            go(write, world, "ab", "x", name="x")
            go(write, world, "ba", "y", name="y")
        assert {text[0]: sorted(text[1:]) for text in world.stored().values()} == {"a": ["x", "y"], "b": ["x", "y"]}
        world.run.sometimes(world.database.circles > 0, "a circle was broken")

    series = Series(scenario, world)
    assert series.play_all(range(40), ["random"]) is None
    assert series.sometimes.never == []


def lost_updates(lock: str) -> int:
    """Return how many seeds lose one of two updates that depend on a read."""

    async def look(world: World, letter: str) -> None:
        await world.database.transact(look_then_write, "a", letter, lock)

    async def scenario(world: World) -> None:
        async with world.run.together() as go:
            for letter in "xy":
                go(look, world, letter, name=letter)
        assert sorted(world.stored()["a"][1:]) == ["x", "y"]

    return sum(play(scenario, seed=seed).error is not None for seed in range(30))


def test_an_update_is_lost_without_a_lock_and_never_with_it() -> None:
    assert lost_updates("") > 3
    assert lost_updates("FOR UPDATE") == 0


def test_locked_rows_are_skipped() -> None:
    async def take(db: Connection) -> str:
        found = await db.fetchval("SELECT name FROM tags ORDER BY name FOR UPDATE SKIP LOCKED LIMIT 1")
        await db.execute("DELETE FROM tags WHERE name = $1", found)
        return found

    async def scenario(world: World) -> None:
        taken: list[str] = []

        async def taker() -> None:
            taken.append(await world.database.transact(take))

        async with world.run.together() as go:
            go(taker, name="one")
            go(taker, name="other")
        assert sorted(taken) == ["a", "b"]
        assert world.database.waits == 0

    assert Series(scenario, world).play_all(SEEDS, ["random"]) is None


def test_a_process_that_dies_commits_all_or_nothing_and_frees_its_locks() -> None:
    async def scenario(world: World) -> None:
        died: list[type[Exception]] = []

        async def write_all() -> None:
            try:
                await world.database.transact(add, "ab", "x")
            except Unavailable as error:
                died.append(type(error))

        async def die() -> None:
            await trio.lowlevel.checkpoint()
            world.database.cut()

        async with world.run.together() as go:
            go(write_all)
            go(die)
        a, b = world.stored().values()
        assert (a, b) in [("a", "b"), ("ax", "bx")]
        assert bool(died) == (a == "a")
        world.run.sometimes(a == "a" and world.database.transactions > 0, "died before its commit")
        world.run.sometimes(a == "ax", "died after its commit")
        world.database.restore()
        await world.database.transact(add, "ab", "z")
        assert world.stored()["a"].endswith("z")

    series = Series(scenario, world)
    assert series.play_all(range(40), ["random"]) is None
    assert series.sometimes.never == []


@pytest.mark.parametrize(("fault", "error", "left"), [
    (Fault.LOST, Unavailable, "a"), (Fault.DOUBT_DONE, Doubtful, "ax"), (Fault.DOUBT_UNDONE, Doubtful, "a"),
    (Fault.CONFLICT, None, "ax"),
])  # fmt: skip
def test_faults_strike_as_in_lockstep(fault: Fault, error: type[Exception] | None, left: str) -> None:
    async def scenario(world: World) -> None:
        if error is None:
            await world.database.transact(add, "a", "x")
        else:
            with pytest.raises(error):
                await world.database.transact(add, "a", "x")
        assert world.stored()["a"] == left

    assert play(scenario, plan=Planned([Point(fault, "add", 1)])).error is None


def test_nothing_is_left_of_a_run_and_a_new_servers_rows_are_there() -> None:
    async def writes(world: World) -> None:
        assert world.stored() == {"a": "a", "b": "b"}
        assert len(world.database.rows("SELECT FROM shards")) == 256
        await world.database.transact(add, "ab", "x")
        await world.database.transact(forget_shards)

    async def forget_shards(db: Connection) -> None:
        await db.execute("DELETE FROM shards")

    for _ in range(3):
        assert play(writes).error is None


def test_more_callers_than_sessions_are_all_served() -> None:
    async def scenario(world: World) -> None:
        async with world.run.together() as go:
            for letter in "abcdefghijkl":
                go(write, world, "a", letter, name=letter)
        assert sorted(world.stored()["a"][1:]) == [*"abcdefghijkl"]

    assert Series(scenario, world, Budget(0)).play_all(range(4), ["random"]) is None
