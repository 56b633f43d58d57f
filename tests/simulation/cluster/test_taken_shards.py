"""Shards that a node has taken: it publishes first what their former owners have left, and looks for it only then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import trio

from troupe.actors.facts.statuses import PublishedStatus
from troupe.actors.kernel import Origin
from troupe.storage import outbox
from troupe.storage.engine.shards import SHARDS, shard_of
from troupe.supervision.testing import simulation
from troupe.supervision.testing.lockstep import LockstepDatabase, work_name
from troupe.supervision.testing.stage.cluster import SimulatedCluster, SimulatedNode, cluster

from .requests import has_published

LOOKS = 2.5  # seconds in which a relay looks twice


@pytest.fixture
def reads() -> Iterator[list[str]]:
    """The names of all reads of the database."""
    names: list[str] = []
    read: Callable[..., Any] = LockstepDatabase.read

    async def note_and_read(self: LockstepDatabase, work: Any, /, *args: Any, **kwargs: Any) -> Any:
        names.append(work_name(work))
        return await read(self, work, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LockstepDatabase, "read", note_and_read)
        yield names


def unsettled(node: SimulatedNode) -> list[int]:
    return [shard for shard in range(SHARDS) if node.cluster.took(shard)]


@simulation(seeds=2, world=partial(cluster, nodes=2, idle=1.0))
async def test_an_account_wakes_without_a_look_at_the_outbox(sim: SimulatedCluster, reads: list[str]) -> None:
    """Its shard was taken, and nothing was left in it."""
    (ada,) = await sim.people("ada")
    await trio.sleep(LOOKS)
    assert not any(unsettled(node) for node in sim.nodes)
    before = reads.count("find_user")
    for _ in range(3):
        await ada.home()
        await ada.publish()
        await trio.sleep(LOOKS)
    assert reads.count("find_user") - before >= 3, "it has slept, and woken again"
    assert "left_by" not in reads


@simulation(seeds=4, faults=1, world=partial(cluster, nodes=3))
async def test_a_taken_shard_is_settled_when_its_facts_are_published(sim: SimulatedCluster) -> None:
    """The others are settled at the first look."""
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    stream = await bob.stream()
    await trio.sleep(LOOKS)
    shard = shard_of(ada.id)
    (owner,) = [node for node in sim.nodes if node.cluster.owns(shard)]
    others = [node for node in sim.nodes if node is not owner]
    status = has_published(sim, ada)
    fact = PublishedStatus(status, ada.id).promised_by(ada.id)
    effects = owner.actors.outbox.effects_of([fact], Origin("test"), shard)
    await owner.kill()
    sim.database.arrange(outbox.insert_many, effects, owner.clock.now())  # as it has committed before its death

    def is_known() -> bool:
        """True if the next owner knows of the promise, which is there, as soon as it owns the shard."""
        there = bool(sim.database.rows("SELECT FROM outbox WHERE id = $1", effects[0].id))
        return not there or all(node.cluster.took(shard) for node in others if node.cluster.owns(shard))

    sim.run.always(is_known, "a promise of a former owner is known")
    while not any(node.cluster.owns(shard) for node in others):  # noqa: ASYNC110 - no event tells of it
        await trio.sleep(0.1)
    await owner.start()
    await sim.calm()
    await trio.sleep(LOOKS)
    assert not any(unsettled(node) for node in sim.nodes)
    assert status in stream.seen
