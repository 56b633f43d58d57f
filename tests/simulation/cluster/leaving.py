"""A node that stops in order while people write: the others read nothing again, and miss nothing."""

from __future__ import annotations

import trio

from troupe.actors.commands.edits import EditStatus
from troupe.supervision.testing.stage import Person
from troupe.supervision.testing.stage.cluster import SimulatedCluster


async def leave_and_read(sim: SimulatedCluster) -> None:
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    for author in (ada, cyd):
        bob.has_followed(author)
    stream = await bob.stream()
    leaving = sim.run.random.choice(sim.nodes)
    others = [node for node in sim.nodes if node is not leaving]

    async with sim.run.together() as go:
        for author in (ada, cyd):

            async def write(author: Person = author) -> None:
                for _ in range(6):
                    status = await author.publish()
                    await author.insist(EditStatus(status, "edited"))
                    await bob.home()
                    await trio.sleep(sim.run.random.random() / 2)

            go(write, name=author.name)
        await trio.sleep(2 * sim.run.random.random())
        resets = sum(node.logged("node.reset") for node in others)
        await leaving.stop()
    await sim.calm()
    assert set(stream.seen) == {*ada.published, *cyd.published}
    assert {*await bob.home()} == {*ada.published, *cyd.published}
    sim.run.sometimes(
        sum(node.logged("node.reset") for node in others) == resets, "a node has left, and nothing was read again"
    )
