"""Scenarios whose transactions overlap, statement by statement: they wait for locks, and processes die in their middle.

The scenarios of the other files run in lockstep, where a transaction is one step. What two transactions do to each
other is shown here alone, and for each lock there is a test that the scenario fails without it.
"""

from collections.abc import Awaitable, Callable
from functools import partial

import pytest
import trio

from troupe.actors.commands.blocks import Block
from troupe.actors.commands.favourites import Favourite
from troupe.actors.commands.follows import Follow
from troupe.actors.commands.reblogs import Reblog
from troupe.actors.commands.statuses import PublishStatus
from troupe.storage import relations, statuses
from troupe.storage.engine.database import Connection
from troupe.supervision.testing import Budget, Fault, simulation
from troupe.supervision.testing.overlapping import OverlappingDatabase
from troupe.supervision.testing.series import Series
from troupe.supervision.testing.stage import Simulation, stage

from .breaking import first_failure

overlapping = partial(stage, overlapping=True)
KINDS = frozenset(Fault) - {Fault.SLOW, Fault.DEAD}

FOLLOWS_AND_BLOCKS = """
    SELECT FROM follows f JOIN blocks b ON (b.account_id, b.target_account_id) IN (
        (f.account_id, f.target_account_id), (f.target_account_id, f.account_id)
    )
"""
BOOSTS_OF_DELETED = """
    SELECT FROM statuses b JOIN statuses s ON s.id = b.reblog_of_id
    WHERE s.deleted_at IS NOT NULL AND b.deleted_at IS NULL
"""
WRONG_COUNTS = """
    SELECT FROM status_counts c JOIN statuses s ON s.id = c.status_id WHERE s.deleted_at IS NULL AND (
        c.favourites <> (SELECT count(*) FROM favourites f WHERE f.status_id = c.status_id)
        OR c.reblogs <> (SELECT count(*) FROM statuses b WHERE b.reblog_of_id = c.status_id AND b.deleted_at IS NULL)
        OR c.replies <> (
            SELECT count(*) FROM statuses r WHERE r.in_reply_to_id = c.status_id AND r.deleted_at IS NULL
        )
    )
"""


def note_waits(sim: Simulation) -> None:
    database = sim.database
    assert isinstance(database, OverlappingDatabase)
    sim.sometimes(database.waits > 0, "a transaction has waited for another one")


async def follow_amid_blocks(sim: Simulation) -> None:
    """Nobody follows whom they block, nor who blocks them."""
    ada, bob = await sim.people("ada", "bob")
    async with sim.together() as go:
        go(ada.attempt, Follow(bob.id))
        go(bob.attempt, Follow(ada.id))
        go(bob.attempt, Block(ada.id))
    await sim.calm()
    assert not sim.database.rows(FOLLOWS_AND_BLOCKS)
    note_waits(sim)


async def interact_amid_a_deletion(sim: Simulation) -> None:
    """Counts are right, and a deleted status has no boosts."""
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    id, other = await ada.publish("going"), await ada.publish("staying")
    async with sim.together() as go:
        go(ada.delete, id)
        for person in (bob, cyd):
            go(person.attempt, Favourite(id))
            go(person.attempt, Favourite(other))
            go(person.attempt, Reblog(id, "public"))
            go(person.attempt, PublishStatus("well", in_reply_to_id=other))
    await sim.calm()
    assert not sim.database.rows(BOOSTS_OF_DELETED)
    assert not sim.database.rows(WRONG_COUNTS)
    note_waits(sim)


@simulation(seeds=12, at_most=60, faults=Budget(2, KINDS), world=overlapping)
async def test_nobody_follows_amid_blocks(sim: Simulation) -> None:
    await follow_amid_blocks(sim)


@simulation(seeds=8, at_most=60, faults=Budget(2, KINDS), world=overlapping)
async def test_statuses_are_deleted_amid_interactions(sim: Simulation) -> None:
    await interact_amid_a_deletion(sim)


@simulation(seeds=12, at_most=100, faults=Budget(1, frozenset({Fault.LOST})), world=overlapping)
async def test_a_process_dies_amid_a_transaction(sim: Simulation) -> None:
    """Nothing that was acknowledged is lost, and the next process finds all or nothing."""
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)

    async def die() -> None:
        await trio.lowlevel.checkpoint()
        await sim.kill()
        await sim.start()

    async with sim.together() as go:
        go(ada.publish, "hello")
        go(bob.attempt, Block(ada.id))
        go(die)
    await sim.calm()
    stored = {row["id"] for row in sim.database.rows("SELECT id FROM statuses WHERE deleted_at IS NULL")}
    assert set(ada.published) == stored
    assert not sim.database.rows(FOLLOWS_AND_BLOCKS)


async def lock_nothing(db: Connection, *args: object) -> None:
    """Take the place of a lock."""


async def hold_nothing(db: Connection, *args: object) -> bool:
    """Take the place of a lock that says if the row is there."""
    return True


@pytest.mark.parametrize(("scenario", "module", "name", "unlocked"), [
    (follow_amid_blocks, relations, "lock_pair", lock_nothing),
    (interact_amid_a_deletion, statuses, "hold", hold_nothing),
])  # fmt: skip
def test_a_missing_lock_is_found(
    scenario: Callable[[Simulation], Awaitable[None]], module: object, name: str, unlocked: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(module, name, unlocked)
    _, played = first_failure(Series(scenario, overlapping))
    assert isinstance(played.error, AssertionError)
