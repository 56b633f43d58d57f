"""Who was blocked sees nothing from then on."""

from troupe.actors.kernel import Refused
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Person, Simulation, stage


# Turns that interleave are found within 9 runs.
@simulation(seeds=18, at_most=40, faults=3, world=stage)
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


# The pinned run finds relations that are taken in any order, which others may take more than 24 runs for.
@simulation(seeds=16, faults=3, pinned=[(8, "random")], world=stage)
async def test_a_block_races_with_two_who_follow_each_other(sim: Simulation) -> None:
    """In every order: at the end there is no follow, no notification, and the blocked account sees nothing."""
    ada, bob = await sim.people("ada", "bob")
    refused: list[bool] = []

    async def follow(one: Person, other: Person) -> None:
        try:
            await one.follow(other)
            refused.append(False)
        except Refused:
            refused.append(True)

    async with sim.together() as go:
        go(follow, ada, bob, name="ada")
        go(follow, bob, ada, name="bob")
        go(ada.block, bob, name="ada's laptop")
    posted = await ada.publish("not for bob")
    assert not await bob.sees(posted)
    assert posted not in await bob.home()
    await sim.calm()

    assert sim.database.rows("SELECT FROM follows") == []
    assert sim.database.rows("SELECT FROM notifications WHERE account_id = $1", ada.id) == []
    for one, other in ((ada, bob), (bob, ada)):
        assert await one.relation(other) == one.stored_relation(other)
        assert await one.home() == one.belongs_at_home()
    sim.sometimes(all(refused), "the block was first")
    sim.sometimes(not any(refused), "the block was last")
