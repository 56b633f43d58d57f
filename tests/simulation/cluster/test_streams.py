"""Streams across nodes: a client that resumes on any node is shown everything once, and nothing that is hidden."""

from functools import partial

import trio

from troupe.actors.commands.edits import EditStatus
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Person
from troupe.supervision.testing.stage.cluster import SimulatedCluster, cluster
from troupe.supervision.testing.stage.resuming import ResumingStream


class Author:
    """A person who posts, edits and deletes. `texts` are the statuses that remain, with their last texts."""

    def __init__(self, sim: SimulatedCluster, person: Person) -> None:
        self.person = person
        self.texts: dict[int, str] = {}
        self._sim = sim

    async def post(self, times: int, suffix: str = "") -> None:
        random = self._sim.run.random
        for number in range(times):
            text = f"number {number} {suffix}".strip()
            status = await self.person.publish(text)
            self.texts[status] = text
            await trio.sleep(random.choice((0, 0, 0.1, 1)))
            one = random.choice([*self.texts])
            match random.randrange(6):
                case 0:
                    await self.person.delete(one)
                    del self.texts[one]
                case 1:
                    await self.person.insist(EditStatus(one, f"{self.texts[one]}, again"))
                    self.texts[one] += ", again"
                case _:
                    pass


def check(client: ResumingStream, *authors: Author) -> None:
    """Assert that a client displays what the authors have left, and was shown each deletion."""
    expected = {id: text for author in authors for id, text in author.texts.items()}
    assert client.timeline == expected
    published = {id for author in authors for id in author.person.published}
    assert set(client.pushed) <= published
    if not client.gaps:
        assert set(client.pushed) - set(client.gone) == set(expected)


async def hop(sim: SimulatedCluster, client: ResumingStream, times: int) -> None:
    """Let a client lose its connection again and again."""
    for _ in range(times):
        await trio.sleep(sim.run.random.choice((0, 0.05, 0.5, 2)))
        client.hop()


async def outages(sim: SimulatedCluster, times: int) -> None:
    random = sim.run.random
    for _ in range(times):
        await trio.sleep(random.random() * 2)
        node = random.choice(sim.nodes)
        match random.randrange(3):
            case 0:
                if node.running.is_set():
                    await node.kill()
                    await trio.sleep(random.random() * 6)
                    await node.start()
            case 1:
                sim.run.freeze(node.place.label)
                await trio.sleep(random.choice((0.5, 2, 6)))
                sim.run.thaw(node.place.label)
            case _:
                sim.bus.cut(node.name, random.choice(sim.nodes).name)
                await trio.sleep(random.choice((0.5, 2, 5)))
                sim.bus.heal()


@simulation(seeds=6, faults=6, world=partial(cluster, nodes=3))
async def test_a_client_that_resumes_on_any_node_is_shown_everything_once(sim: SimulatedCluster) -> None:
    ada, bob, cyd, dan = await sim.people("ada", "bob", "cyd", "dan")
    authors = [Author(sim, person) for person in (ada, cyd, dan)]
    for author in authors:
        bob.has_followed(author.person)
    clients = [await sim.listen(bob) for _ in range(2)]
    async with sim.run.together() as go:
        for author in authors:
            go(author.post, 6, name=author.person.name)
        go(hop, sim, clients[0], 6, name="hops")
        go(outages, sim, 2, name="outages")
    await sim.calm()
    for client in clients:
        check(client, *authors)
        assert not client.gaps
