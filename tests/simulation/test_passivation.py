"""Actors fall asleep and wake up while statuses are on their way to them."""

from functools import partial
from itertools import pairwise
from unittest.mock import patch

import trio

from troupe.actors.broadcast.broadcast import home_address
from troupe.actors.timelines import timeline
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Simulation, stage

from .scenarios import read_with_little_memory

drowsy = partial(stage, idle=0.0)  # actors without work fall asleep at the next round


@simulation(seeds=30, faults=2, world=drowsy)
async def test_nothing_is_missed_between_waking_and_sleeping(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    awake: list[bool] = []

    async def post() -> None:
        for _ in range(3):
            await ada.publish("hello")

    async def look() -> None:
        for _ in range(3):
            known = set(ada.published)
            assert known <= set(await bob.home())

    async def doze() -> None:
        for _ in range(12):
            sim.runtime.keep()
            awake.append(bool(sim.runtime.awake_among([home_address(bob.id)])))
            await trio.lowlevel.checkpoint()

    async with sim.together() as go:
        go(post, name="ada")
        go(look, name="bob")
        go(doze, name="sandman")
    assert await bob.home() == bob.belongs_at_home()
    assert await sim.public_page() == sorted(ada.published, reverse=True)
    sim.sometimes((True, False) in pairwise(awake), "a home fell asleep in the middle")
    sim.sometimes((False, True) in pairwise(awake), "a home woke up in the middle")


# Streams that are told from memory alone are found within 14 runs.
@simulation(seeds=28, faults=2, world=stage)
async def test_the_least_recently_used_sleep_while_others_are_read_and_told(sim: Simulation) -> None:
    await read_with_little_memory(sim)


@simulation(seeds=20, faults=2, world=stage)
async def test_the_rest_of_a_window_is_read_while_statuses_come_and_go(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    old = [await ada.publish("old") for _ in range(4)]

    async def change() -> None:
        await ada.publish("new")
        await ada.delete(old[0])
        await ada.publish("newer")

    async def read_on() -> None:
        for _ in range(3):
            known = set(ada.published) - {old[0]}
            assert known <= set(await bob.home())

    with patch.object(timeline, "FIRST", 2):
        async with sim.together() as go:
            go(change, name="ada")
            go(read_on, name="bob")
        await sim.calm()
        assert await bob.home() == bob.belongs_at_home()
