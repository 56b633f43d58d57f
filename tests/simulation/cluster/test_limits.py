"""Rate limits, attempts and daily quotas over several nodes, also while these are killed, frozen and cut off."""

from __future__ import annotations

from functools import partial

import trio

from troupe.actors.kernel import NotAnswered
from troupe.actors.memory.daily_quotas import MOST_A_DAY
from troupe.http.access.rates import DAY, CountedAttempt, RateLimits, RateRule
from troupe.http.answers.errors import TooMany
from troupe.storage.engine.database import StorageError
from troupe.supervision.testing import Budget, Fault, simulation
from troupe.supervision.testing.stage.api import Dropped
from troupe.supervision.testing.stage.cluster import SimulatedCluster, SimulatedNode, cluster

DATAGRAMS = frozenset({Fault.DATAGRAM_LOST, Fault.DATAGRAM_LATE, Fault.DATAGRAM_REPEATED})
# The clocks of nodes differ by minutes, so windows of days end for no node while a scenario runs.
ACTIVITIES = RateRule("activities", 300, DAY)
GUESSES = RateRule("guesses", 25, DAY)
HOST = "far.example"


def limits_of(node: SimulatedNode) -> RateLimits:
    """Return the limits of the process that runs now."""
    http_context = node.api.http_context
    if not http_context.settings.rate_limits:
        http_context.use_settings({"rate_limits": True})
    return http_context.limits


def admits(node: SimulatedNode) -> bool:
    try:
        limits_of(node).count_for_host(HOST, ACTIVITIES)
    except TooMany:
        return False
    return True


async def guess(node: SimulatedNode) -> CountedAttempt | None:
    """Count a wrong password. Return None if the node did not answer."""
    try:
        return await node.serve(lambda: limits_of(node).attempt(GUESSES, "bob"))
    except (Dropped, StorageError, NotAnswered):
        return None


async def count_admitted(sim: SimulatedCluster) -> int:
    """Send twice as many requests as the limit allows, a hundred in a second."""
    admitted = 0
    for _ in range(2 * ACTIVITIES.limit):
        await trio.sleep(sim.run.random.expovariate(100))
        admitted += admits(sim.pick())
    return admitted


@simulation(seeds=3, faults=Budget(6, DATAGRAMS), world=partial(cluster, nodes=3))
async def test_a_client_of_all_nodes_has_a_tenth_more_than_the_limit_at_most(sim: SimulatedCluster) -> None:
    assert ACTIVITIES.limit <= await count_admitted(sim) <= 1.1 * ACTIVITIES.limit


@simulation(seeds=1, faults=Budget(6, DATAGRAMS), world=partial(cluster, nodes=3))
async def test_a_client_of_one_node_has_the_limit(sim: SimulatedCluster) -> None:
    node = sim.pick()
    assert [admits(node) for _ in range(ACTIVITIES.limit + 1)] == [True] * ACTIVITIES.limit + [False]


@simulation(seeds=2, world=partial(cluster, nodes=3))
async def test_a_restart_of_all_nodes_one_after_the_other_gives_nothing_back(sim: SimulatedCluster) -> None:
    await count_admitted(sim)
    for node in sim.nodes:
        await sim.run.random.choice([node.kill, node.stop])()
        await node.start()
        await trio.sleep(1)
        assert not admits(node)


@simulation(seeds=3, faults=4, world=partial(cluster, nodes=3))
async def test_nodes_admit_no_guess_beyond_the_limit_whatever_happens_to_them(sim: SimulatedCluster) -> None:
    admitted: list[CountedAttempt] = []

    async def attack() -> None:
        for _ in range(15):
            await trio.sleep(sim.run.random.random() / 2)
            made = await guess(sim.run.random.choice(sim.nodes))
            if made is not None and not made.status.exceeded:
                admitted.append(made)

    async with sim.together() as go:
        go(partial(sim.storm, blows=2))
        for _ in range(4):
            go(attack)
    await sim.calm()
    assert len(admitted) <= GUESSES.limit


@simulation(seeds=3, world=partial(cluster, nodes=3))
async def test_nodes_admit_all_guesses_up_to_the_limit(sim: SimulatedCluster) -> None:
    """Also those that are made at the same time, while the bus is down."""
    for node in sim.nodes:
        sim.bus.cut_off(node.name)
    made: list[CountedAttempt | None] = []

    async def attack(node: SimulatedNode) -> None:
        for _ in range(10):
            made.append(await guess(node))

    async with sim.run.together() as go:
        for node in sim.nodes:
            go(attack, node)
    exceeded = [attempt.status.exceeded for attempt in made if attempt is not None]
    assert (len(exceeded), exceeded.count(False)) == (30, GUESSES.limit)


@simulation(seeds=2, faults=Budget(4, DATAGRAMS), world=partial(cluster, nodes=3))
async def test_a_domain_has_its_daily_quota_once(sim: SimulatedCluster) -> None:
    """Also if a node that has granted a part of it dies, and starts again."""
    quota, granted = MOST_A_DAY["reports"], 0
    for number in range(quota):
        if number == quota // 2:
            node = sim.pick()
            await node.kill()
            await node.start()
            await trio.sleep(1)
        granted += sim.pick().actors.actor_context.quotas.take("reports", f"host{number}.{HOST}", 2)
        await trio.sleep(sim.run.random.expovariate(50))
    assert quota * 0.98 <= granted <= quota * 1.1
