"""Who mutes reads nothing of the muted from then on, and everything again afterwards."""

from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Simulation, stage


# Streams that are told from memory alone are found within 11 runs.
@simulation(pinned=[(11, "random")], seeds=22, at_most=60, faults=3, world=stage)
async def test_mutes_come_and_go_amid_fan_out(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    stream = await bob.stream()
    muted: list[int] = []  # begun to be published after the mute was acknowledged, and acknowledged before it ended
    heard: list[int] = []  # begun after it had ended
    state = "before"

    async def post() -> None:
        for _ in range(5):
            at_first = state
            id = await ada.publish("hello")
            if at_first == state == "muted":
                muted.append(id)
            elif at_first == "after":
                heard.append(id)

    async def waver() -> None:
        nonlocal state
        await bob.mute(ada)
        state = "muted"
        assert await bob.home() == []
        state = "ending"
        known = set(ada.published)
        await bob.unmute(ada)
        state = "after"
        assert known <= set(await bob.home())

    async with sim.together() as go:
        go(post, name="ada")
        go(waver, name="bob")
    assert await bob.home() == bob.belongs_at_home() == ada.published[::-1]
    await sim.calm()

    assert await bob.home() == ada.published[::-1]
    assert set(heard) <= set(stream.seen)
    # A home that comes back from a crash makes up for what its streams missed, and knows of no mute that is over.
    crashed = sim.logged("actor.restored", actor=f"home/{bob.id}") > 0
    assert crashed or stream.cuts or not set(muted) & set(stream.pushed)
    sim.sometimes(bool(muted), "something was posted while ada was muted")
    sim.sometimes(bool(heard), "something was posted after it")
