"""A timeline that crashes and comes back keeps its subscribers, and they miss nothing."""

from troupe.supervision.testing import Budget, Fault, simulation
from troupe.supervision.testing.stage import Simulation, stage

CRASHES = frozenset({Fault.CRASH_BEFORE, Fault.CRASH_AFTER})


@simulation(seeds=12, faults=Budget(4, CRASHES), world=stage)
async def test_open_streams_outlive_their_timeline(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    phone, laptop, public = await bob.stream(), await bob.stream(), await sim.public_stream()

    async def post() -> None:
        await ada.publish("one")
        await ada.publish("@bob two")
        await ada.publish("three")

    async with sim.together() as go:
        go(post, name="ada")
        go(bob.home, name="bob")
    await sim.calm()

    for stream in (phone, laptop, public):
        assert not stream.cuts
        assert stream.pushed == ada.published
    assert len(phone.notified) == len(laptop.notified) == 1
    crashed = sim.logged("actor.restored", actor=f"home/{bob.id}")
    sim.sometimes(crashed > 0, "a home came back with its streams open")
    sim.sometimes(crashed > 1, "a home came back twice")
    sim.sometimes(sim.logged("message.parked") > 0, "a message was parked")
    sim.sometimes(sim.logged("actor.restored", actor="public/local") > 0, "a public timeline came back")
