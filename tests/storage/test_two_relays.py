"""Two relays of two nodes at work on one queue: what a simulation in lockstep cannot show."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
import trio

from troupe.actors.effects import registry
from troupe.actors.effects.registry import Attempt, EffectQueue, QueueWithContext, executes
from troupe.actors.kernel import Ids, Origin
from troupe.actors.outbox.outbox import new_effect
from troupe.actors.outbox.relay import Relay
from troupe.actors.promises import Effect, Promise
from troupe.storage import outbox
from troupe.storage.engine.database import Connection
from troupe.storage.engine.pool import ConnectionPool, open_pool

PARTITIONS, OF_EACH = 6, 12


@dataclass(frozen=True, slots=True)
class Ring(Effect):
    """One ring at a door. Doors are partitions."""

    door: int
    number: int


class Node:
    """The context of one node's effects, and what it has run."""

    def __init__(self, number: int, rung: list[tuple[int, Ring]], ringing: Counter[int], random: Random) -> None:
        self.number = number
        self.rung = rung
        self.ringing = ringing
        self.random = random
        self.overlaps = 0

    async def ring(self, ring: Ring, attempt: Attempt) -> None:
        """Ring for a moment. Every fifth first try fails."""
        self.ringing[ring.door] += 1
        self.overlaps += self.ringing[ring.door] > 1
        try:
            await trio.sleep(self.random.random() / 100)
            if attempt.number == 1 and self.random.random() < 0.2:
                raise RuntimeError("nobody opens")
            self.rung.append((self.number, ring))
        finally:
            self.ringing[ring.door] -= 1


RINGS: EffectQueue[Node] = EffectQueue(
    "rings", workers=3, workers_per_group=2, claimed_at_once=2, look_every=0.01, retry_after=(0.02,)
)


@pytest.fixture(autouse=True)
def rings() -> Iterator[None]:
    """A kind of effects that exists in these tests alone."""

    @executes("ring", Ring, RINGS)
    async def ring(node: Node, effect: Ring, attempt: Attempt) -> None:
        await node.ring(effect, attempt)

    yield
    del registry.KINDS["ring"], registry.NAMES[Ring]


class SystemTime:
    def now(self) -> datetime:
        return datetime.now(UTC)


async def count(db: Connection) -> int:
    return await db.fetchval("SELECT count(*) FROM outbox")


def unrecorded(event: str, /, **facts: Any) -> None:
    """Retries are recorded."""


@pytest.mark.parametrize("seed", range(3))
async def test_two_relays_run_each_effect_once_and_each_partition_in_order(dsn: str, seed: int) -> None:
    clock, rung, ringing = SystemTime(), list[tuple[int, Ring]](), Counter[int]()
    nodes = [Node(number, rung, ringing, Random(seed + number)) for number in (1, 2)]
    ids = Ids(clock)
    promises = [
        Promise(Ring(door, number), f"door/{door}", group=f"house/{door % 2}")
        for number in range(OF_EACH)
        for door in range(PARTITIONS)
    ]

    async def live(node: Node, pool: ConnectionPool) -> None:
        queue = QueueWithContext(RINGS, node)
        await Relay(queue, pool, clock, Ids(clock, node.number), unrecorded).run(trio.Event())

    with trio.fail_after(60):
        async with open_pool(dsn, size=4) as one, open_pool(dsn, size=4) as two, trio.open_nursery() as nursery:
            rows = [new_effect(ids.next(), promise, Origin("test")) for promise in promises]
            await one.transact(outbox.insert_many, rows, clock.now())
            for node, pool in zip(nodes, (one, two), strict=True):
                nursery.start_soon(live, node, pool)
            while await two.read(count):  # noqa: ASYNC110
                await trio.sleep(0.02)
            nursery.cancel_scope.cancel()

    at = defaultdict[int, list[int]](list)
    for _, ring in rung:
        at[ring.door].append(ring.number)
    assert at == {door: [*range(OF_EACH)] for door in range(PARTITIONS)}
    assert [node.overlaps for node in nodes] == [0, 0]
    assert {number for number, _ in rung} == {1, 2}, "both have worked"
