"""Who was blocked sees nothing from then on."""

from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Simulation, stage


@simulation(seeds=200, faults=3, world=stage)
async def test_a_block_races_with_fan_out(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    stream = await bob.stream()
    hidden: list[int] = []

    async def talk_and_block() -> None:
        await ada.publish("for friends", visibility="private")
        await ada.block(bob)
        hidden.append(await ada.publish("not for bob", visibility="private"))

    async def talk() -> None:
        await ada.publish("from the laptop", visibility="private")

    async def look() -> None:
        for _ in range(3):
            blocked = bool(hidden)
            page = await bob.home()
            assert not blocked or not page

    async with sim.together() as go:
        go(talk_and_block, name="phone")
        go(talk, name="laptop")
        go(look, name="bob")

    assert await bob.home() == []
    assert not any([await bob.sees(id) for id in ada.published])
    await sim.calm()
    assert not set(hidden) & set(stream.seen)
    assert await bob.home() == []
    assert not any([await bob.sees(id) for id in ada.published])
    sim.sometimes(bool(stream.pushed), "bob was shown something before the block")
    sim.sometimes(not stream.pushed, "bob was shown nothing")
