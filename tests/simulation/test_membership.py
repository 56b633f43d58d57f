"""Nodes that join, die, freeze and drain: who is in the cluster, and who owns the shards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import trio

from troupe.actors.cluster.membership import BEAT, LEASE, Member, Membership
from troupe.actors.kernel.clock import SEQUENCE_BITS, first_id_at
from troupe.storage.engine.database import Connection
from troupe.storage.engine.shards import SHARDS
from troupe.supervision.testing import Budget, Fault, simulation
from troupe.supervision.testing.run import MORNING
from troupe.supervision.testing.stage.memberships import Memberships, memberships

# A node that is away from its database for five seconds is removed. All other faults lose it a beat.
NOT_AWAY = Budget(3, frozenset(Fault) - {Fault.AWAY})

CLAIMED = """
    INSERT INTO outbox (id, queue, kind, partition_key, payload, due_at, created_at, claimed_by, claimed_until)
    VALUES ($1, 'main', 'files', 'files/1', '{}', $3, $3, $2, $3)
"""


async def start_all(sim: Memberships, names: str) -> None:
    async with sim.run.together() as go:
        for name in names:
            go(sim.start, name)
    await sim.settled()


def shares(node: Membership) -> Counter[str | None]:
    return Counter(node.owner_of(shard) for shard in range(SHARDS))


@simulation(seeds=10, faults=NOT_AWAY, world=memberships)
async def test_nodes_that_start_together_share_all_shards(sim: Memberships) -> None:
    await start_all(sim, "abcde")
    assert sorted(shares(sim.running["c"]).values()) == [51, 51, 51, 51, 52]
    assert len({node.member.number for node in sim.running.values()}) == 5
    assert sim.removed == []
    leader = min(sim.running.values(), key=lambda node: node.member.number)
    assert leader.is_leader


@simulation(seeds=10, faults=NOT_AWAY, world=memberships)
async def test_the_shards_of_a_dead_node_are_taken_and_the_others_are_told(sim: Memberships) -> None:
    await start_all(sim, "abc")
    a, b = sim.running["a"].member, sim.running["b"]
    left: list[Member] = []
    b.observe(lambda joined, gone: left.extend(gone))
    sim.kill("a")
    died = trio.current_time()
    await sim.settled()
    assert trio.current_time() - died < 2 * LEASE
    assert left == [a]
    assert all(b.own.took(shard) for shard in range(SHARDS) if b.own.owns(shard))
    assert sim.removed == []


@simulation(seeds=15, faults=NOT_AWAY, world=memberships)
async def test_a_frozen_node_is_removed_or_goes_on(sim: Memberships) -> None:
    """It is removed if it was frozen for longer than the lease, and no other node is."""
    await start_all(sim, "abc")
    name = sim.run.random.choice("abc")
    frozen_for = sim.run.random.choice([LEASE / 2, LEASE, 2 * LEASE, 5 * LEASE])
    sim.run.freeze(f"{name} ")
    await trio.sleep(frozen_for)
    assert not (frozen_for > LEASE and sim.running[name].is_leader)
    sim.run.thaw(f"{name} ")
    await sim.settled()
    assert {*sim.removed} <= {name}
    if frozen_for >= 2 * LEASE:
        assert sim.removed == [name]
    if frozen_for < LEASE - 1:
        assert sim.removed == []
    sim.run.sometimes(not sim.removed, "a frozen node goes on")


@simulation(seeds=3, world=memberships)
async def test_a_node_of_a_machine_that_wakes_does_not_count_as_a_member_until_it_has_beaten(sim: Memberships) -> None:
    """Its clock has counted the time, but it has not noticed yet: no task of it has run since."""
    await start_all(sim, "abc")
    name = sim.run.random.choice("abc")
    node = sim.running[name]
    assert node.is_current
    sim.suspended[name] += LEASE
    assert not node.is_current
    assert not node.is_leader
    await trio.sleep(2 * BEAT)
    assert node.is_current


@simulation(seeds=10, faults=NOT_AWAY, world=memberships)
async def test_a_pause_of_all_nodes_removes_none(sim: Memberships) -> None:
    """The clock of the first to go on has jumped: it can't know if the others were silent."""
    await start_all(sim, "abc")
    names = sim.run.random.sample("abc", 3)
    for name in names:
        sim.run.freeze(f"{name} ")
    await trio.sleep(10 * LEASE)
    for name in names:
        sim.run.thaw(f"{name} ")
        await trio.sleep(LEASE / 4)
    await sim.settled()
    assert sim.removed == []


@simulation(seeds=10, faults=NOT_AWAY, world=memberships)
async def test_a_process_that_starts_again_replaces_its_predecessor(sim: Memberships) -> None:
    """It takes shards once its predecessor can't answer from memory any more, which may not know of its end."""
    await start_all(sim, "abc")
    began = trio.current_time()
    before = sim.running["b"].member
    seen: list[tuple[Member | None, Member | None]] = []
    sim.running["a"].observe(lambda joined, left: seen.append((next(iter(joined), None), next(iter(left), None))))
    await sim.start("b")
    after = sim.running["b"].member
    await sim.settled()
    assert after.incarnation > before.incarnation
    assert trio.current_time() - began >= LEASE
    # If the outcome of the join was in doubt, it has joined twice.
    assert [left for _, left in seen] == [before, *(joined for joined, _ in seen[:-1])]
    assert seen[-1][0] == after
    assert {*sim.removed} <= {"b"}


@simulation(seeds=10, faults=NOT_AWAY, world=memberships)
async def test_a_node_that_drains_gives_its_shards_away(sim: Memberships) -> None:
    await start_all(sim, "abc")
    a = sim.running["a"]
    sim.drain("a")
    await trio.sleep(LEASE)
    assert "a" not in shares(sim.running["b"])
    assert not any(a.own.owns(shard) for shard in range(SHARDS))
    assert sim.running.keys() == {"b", "c"}
    assert sim.removed == []


@simulation(seeds=10, faults=NOT_AWAY, world=memberships)
async def test_the_last_node_leaves_at_once(sim: Memberships) -> None:
    await start_all(sim, "a")
    sim.drain("a")
    await trio.sleep(LEASE)
    assert not sim.running
    await start_all(sim, "b")
    assert shares(sim.running["b"]) == {"b": SHARDS}


@simulation(seeds=10, faults=NOT_AWAY, world=memberships)
async def test_a_node_that_has_not_heard_the_others_takes_nothing(sim: Memberships) -> None:
    await start_all(sim, "ab")
    joining = Membership(sim.database, "c", trio.current_time)
    stopping = trio.Event()
    async with sim.run.together() as go:
        await joining.join()
        go(joining.run, stopping)
        sim.kill("a")
        await trio.sleep(3 * LEASE)
        assert joining.members.keys() == {"b"}
        assert shares(joining) == {"b": SHARDS}
        assert not joining.is_leader
        await joining.take_share()
        assert shares(joining) == {"b": 128, "c": 128}
        stopping.set()


@simulation(seeds=20, at_most=100, faults=4, world=memberships)
async def test_nodes_come_and_go(sim: Memberships) -> None:
    """Every shard has one owner in the end, whatever happens to the nodes."""
    chance = sim.run.random
    names = "abcde"[: chance.randint(3, 5)]
    async with sim.run.together() as go:
        for name in names:
            go(sim.start, name)
    for _ in range(chance.randint(3, 8)):
        name = chance.choice(names)
        match chance.choice(["kill", "start", "freeze", "thaw", "drain", "leave"]):
            case "kill":
                sim.kill(name)
            case "start":
                await sim.start(name)
            case "freeze":
                sim.run.freeze(f"{name} ")
            case "thaw":
                sim.run.thaw(f"{name} ")
            case "drain" if name in sim.running:
                sim.drain(name)
            case "leave" if name in sim.running:
                sim.go(name, sim.running[name].leave)
            case _:
                pass
        await trio.sleep(chance.choice([0, 0.3, LEASE, 2 * LEASE]))
    for name in names:
        sim.run.thaw(f"{name} ")
    await sim.start(chance.choice(names))
    await sim.settled()
    sim.run.sometimes(len(sim.running) > 2, "several nodes are left")
    sim.run.sometimes(bool(sim.removed), "a node was removed")


@simulation(seeds=10, faults=NOT_AWAY, world=memberships)
async def test_the_claims_of_a_node_that_is_gone_are_released(sim: Memberships) -> None:
    await start_all(sim, "abc")
    gone, other = sim.running["a"].member.number, sim.running["b"].member.number
    sim.database.arrange(claim, {1: gone, 2: other})
    match sim.run.random.choice(["dies", "leaves", "starts again"]):
        case "dies":
            sim.kill("a")
        case "leaves":
            sim.go("a", sim.running["a"].leave)
        case _:
            await sim.start("a")
    await trio.sleep(2 * LEASE)
    claims = sim.database.rows("SELECT id, claimed_by IS NOT NULL AS claimed FROM outbox ORDER BY id")
    assert [(row["id"], row["claimed"]) for row in claims] == [(1, False), (2, True)]


async def claim(db: Connection, numbers: Mapping[int, int]) -> None:
    """Store rows of the outbox that relays of nodes have claimed, by the numbers of the nodes."""
    for id, number in numbers.items():
        await db.execute(CLAIMED, id, first_id_at(MORNING) | number << SEQUENCE_BITS, MORNING)


@simulation(seeds=10, world=memberships)
async def test_a_refresh_shows_owners_at_once(sim: Memberships) -> None:
    """Many calls at the same time share a read: commands are refused in a crowd when shards have moved."""
    await start_all(sim, "a")
    a = sim.running["a"]
    await sim.start("b")
    await sim.run.quiet()
    b = sim.running["b"]
    before = count_reads(sim)
    async with sim.run.together() as go:
        for _ in range(20):
            go(a.refresh)
    assert shares(a) == {"a": 128, "b": 128}
    assert a.members == {"b": b.member}
    sim.run.sometimes(count_reads(sim) - before <= 2, "calls share a read")


def count_reads(sim: Memberships) -> int:
    return sum(point.place == "a read" and point.fault is Fault.LOST for point in sim.run.faults.passed)
