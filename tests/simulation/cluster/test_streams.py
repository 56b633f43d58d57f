"""Streams across nodes: a client that resumes on any node is shown everything once, and nothing that is hidden."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import pytest
import trio

from troupe.actors.broadcast.broadcast import PUBLIC_LOCAL, account_address, list_address, tag_address
from troupe.actors.commands.edits import EditStatus
from troupe.actors.commands.moderation import ModerateAccount
from troupe.actors.commands.statuses import PublishStatus
from troupe.actors.facts.fact import Fact
from troupe.actors.kernel import Address, Origin, resumption
from troupe.actors.staff.acts import COMMAND_LINE
from troupe.actors.timelines import missed
from troupe.actors.timelines.list import ListPage
from troupe.actors.timelines.public import PublicPage
from troupe.actors.timelines.tag import TagPage
from troupe.storage import lists
from troupe.storage.lists import List
from troupe.storage.statuses import Status
from troupe.storage.upkeep.paging import Page
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import PAGE, Person, insist
from troupe.supervision.testing.stage.cluster import Blow, SimulatedCluster, SimulatedNode, cluster
from troupe.supervision.testing.stage.resuming import ResumingStream

from .short_ids import ids_become_short

FEW = (0.0, 0.0, 0.1, 1.0)  # seconds between two posts


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
            self.texts[await self.person.publish(text)] = text
            await trio.sleep(random.choice(FEW))
            if not self.texts:
                continue
            earlier = random.choice([*self.texts])
            match random.randrange(6):
                case 0:
                    await self.person.delete(earlier)
                    del self.texts[earlier]
                case 1:
                    await self.person.insist(EditStatus(earlier, f"{self.texts[earlier]}, again"))
                    self.texts[earlier] += ", again"
                case _:
                    pass


def check(client: ResumingStream, *authors: Author) -> None:
    """Assert that a client displays the statuses that their authors have left, with their last texts."""
    assert client.timeline == {id: text for author in authors for id, text in author.texts.items()}, client.name


async def hop(sim: SimulatedCluster, client: ResumingStream, times: int = 6) -> None:
    """Let a client lose its connection again and again."""
    for _ in range(times):
        await trio.sleep(sim.run.random.choice((0, 0.05, 0.5, 2)))
        client.hop()


async def followed(sim: SimulatedCluster, *names: str) -> tuple[Person, list[Author]]:
    """Return bob, and authors whom he follows."""
    bob, *others = await sim.people("bob", *names)
    for other in others:
        bob.has_followed(other)
    return bob, [Author(sim, other) for other in others]


async def amid_a_storm(sim: SimulatedCluster, *blows: Blow) -> None:
    bob, authors = await followed(sim, "ada", "cyd", "dan")
    clients = [await sim.listen(bob) for _ in range(2)]
    async with sim.run.together() as go:
        for author in authors:
            go(author.post, 5, name=author.person.name)
        go(hop, sim, clients[0], name="hops")
        go(sim.storm, *blows, name="storm")
    await sim.calm()
    for client in clients:
        check(client, *authors)
    sim.run.sometimes(len(set(clients[0].nodes)) > 2, "a client was connected to all nodes")
    sim.run.sometimes(len(clients[0].gone) > 1, "a client was shown several deletions")


@simulation(seeds=1, faults=6, world=partial(cluster, nodes=3))
async def test_a_client_that_resumes_on_any_node_is_shown_everything_once(sim: SimulatedCluster) -> None:
    await amid_a_storm(sim)


@simulation(seeds=1, faults=3, world=partial(cluster, nodes=3))
async def test_a_client_of_nodes_that_are_killed_is_shown_everything_once(sim: SimulatedCluster) -> None:
    await amid_a_storm(sim, Blow.RESTART)


@simulation(seeds=1, faults=3, world=partial(cluster, nodes=3))
async def test_streams_of_all_kinds_show_everything_once(sim: SimulatedCluster) -> None:
    bob, authors = await followed(sim, "ada", "cyd")
    mine = List(sim.new_id(), bob.id, "mine", "list", False, sim.run.clock.now())
    sim.database.arrange(lists.insert, mine, 50)
    people = [author.person.id for author in authors]
    sim.database.arrange(lists.add, mine.id, people, [sim.new_id() for _ in people], sim.run.clock.now())

    async def of_list() -> list[int]:
        return await bob.insist(ListPage(bob.id, Page(PAGE)), list_address(mine.id))

    async def of_tag() -> list[int]:
        return await bob.insist(TagPage(Page(PAGE)), tag_address("tea"))

    async def of_public() -> list[int]:
        return await bob.insist(PublicPage(Page(PAGE)), PUBLIC_LOCAL)

    clients = [
        await sim.listen(bob),
        await sim.listen(bob, "list", str(mine.id), of_list),
        await sim.listen(bob, "hashtag", "tea", of_tag),
        await sim.listen(bob, "public:local", "", of_public),
    ]
    async with sim.run.together() as go:
        for author in authors:
            go(author.post, 4, "#tea", name=author.person.name)
        for client in clients:
            go(hop, sim, client, 3, name=client.name)
        go(sim.storm, name="storm")
    await sim.calm()
    for client in clients:
        check(client, *authors)


@simulation(seeds=1, faults=3, world=partial(cluster, nodes=3))
async def test_ids_are_short_again_after_nodes_have_left(sim: SimulatedCluster) -> None:
    await ids_become_short(sim)


# Clients that have missed much ---------------------------------------------------------------------------------------


async def publish_beside(sim: SimulatedCluster, frozen: SimulatedNode, person: Person) -> int:
    """Publish a status on a node that is not frozen. Its answer waits until the frozen node can answer no reader."""
    node = sim.run.random.choice([node for node in sim.nodes if node is not frozen])
    publish = PublishStatus("hello", idempotency_key=person.name)
    status = await insist(
        sim,
        person.name,
        lambda: node.answer(lambda: node.runtime.ask(account_address(person.id), publish), changes=True),
    )
    assert isinstance(status, Status)
    return status.id


async def amid_a_freeze(sim: SimulatedCluster) -> None:
    """A node is frozen, so that the log of no node is known to be complete, while many people post on the others."""
    bob, authors = await followed(sim, *(f"author{number}" for number in range(20)))
    clients = [await sim.listen(bob) for _ in range(2)]
    frozen = sim.nodes[-1]
    published: list[int] = []

    async def publish(author: Author) -> None:
        await trio.sleep(sim.run.random.random() * 2)
        published.append(await publish_beside(sim, frozen, author.person))

    async def freeze() -> None:
        sim.run.freeze(frozen.place.label)
        await trio.sleep(sim.run.random.choice((2, 2.5, 5)))
        sim.run.thaw(frozen.place.label)

    async with sim.run.together() as go:
        go(freeze, name="freeze")
        for author in authors:
            go(publish, author, name=author.person.name)
        go(hop, sim, clients[0], name="hops")
    await sim.calm()
    for client in clients:
        assert client.timeline.keys() == set(published), client.name
    sim.run.sometimes("." in clients[0].since, "an id had keys")


@simulation(seeds=1, faults=2, world=partial(cluster, nodes=3))
async def test_a_client_beside_a_frozen_node_is_shown_everything_once(sim: SimulatedCluster) -> None:
    await amid_a_freeze(sim)


@simulation(seeds=1, faults=2, world=partial(cluster, nodes=3))
async def test_a_client_whose_id_has_too_few_keys_misses_nothing(
    sim: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be shown statuses again, which clients ignore."""
    monkeypatch.setattr(resumption, "MOST_KEYS", 6)
    monkeypatch.setattr(ResumingStream, "ignores_repeated", True)
    await amid_a_freeze(sim)


@simulation(seeds=1, faults=2, world=partial(cluster, nodes=3))
async def test_a_client_that_has_missed_too_much_reads_its_timeline(
    sim: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(missed, "MOST_CHANGES", 6)
    bob, authors = await followed(sim, "ada", "cyd")
    client = await sim.listen(bob)
    client.hop(away=6)
    async with sim.run.together() as go:
        for author in authors:
            go(author.post, 8, name=author.person.name)
        go(sim.storm, name="storm")
    await sim.calm()
    check(client, *authors)
    sim.run.sometimes(client.gaps > 0, "a client was told of a gap")


# A node that dies in the middle of a publication --------------------------------------------------------------------


async def dies_at(sim: SimulatedCluster, node: SimulatedNode) -> None:
    """Kill a node from inside: what is called here does not return."""
    sim.run.note("dies in a publication", node.name)
    sim.nursery.start_soon(_restart, sim, node)
    await trio.sleep_forever()


async def _restart(sim: SimulatedCluster, node: SimulatedNode) -> None:
    await node.kill()
    await trio.sleep(sim.run.random.choice((0.1, 6)))
    await node.start()


def let_die(sim: SimulatedCluster, node: SimulatedNode, *, after_sending: bool) -> None:
    """Let a node die once at a publication of a turn."""
    facts = node.actors.facts
    publish = facts.notify_actors

    async def notify_actors(facts: Sequence[Fact], origin: Origin, publisher: Address | None = None) -> None:
        dies = sim.run.random.random() < 0.2
        if dies and not after_sending:
            await dies_at(sim, node)
        await publish(facts, origin, publisher)
        if dies:
            await dies_at(sim, node)

    facts.notify_actors = notify_actors


async def a_node_dies(sim: SimulatedCluster, *, after_sending: bool) -> None:
    """Nodes of authors die after a COMMIT: before any node has the facts, or before they are in the log."""
    bob, authors = await followed(sim, "ada", "cyd")
    clients = [await sim.listen(bob) for _ in range(3)]
    for node in sim.nodes[1:]:
        let_die(sim, node, after_sending=after_sending)
    async with sim.run.together() as go:
        for author in authors:
            go(author.post, 5, name=author.person.name)
        go(hop, sim, clients[0], name="hops")
    await sim.calm()
    for client in clients:
        check(client, *authors)
    sim.run.sometimes(any(node.logged("node.reset") for node in sim.nodes), "a node died in a publication")


@simulation(seeds=1, faults=1, world=partial(cluster, nodes=3))
async def test_a_status_of_a_node_that_died_before_its_publication_is_shown(sim: SimulatedCluster) -> None:
    await a_node_dies(sim, after_sending=False)


@simulation(seeds=1, faults=1, world=partial(cluster, nodes=3))
async def test_a_status_of_a_node_that_died_before_its_log_is_shown_once(sim: SimulatedCluster) -> None:
    await a_node_dies(sim, after_sending=True)


# Nothing hidden is shown ----------------------------------------------------------------------------------------------


async def hides(sim: SimulatedCluster, hide: Callable[[Person, Author], Awaitable[object]]) -> None:
    """After the acknowledgement of an act no stream on any node shows a status of ada, or an edit."""
    bob, authors = await followed(sim, "ada", "cyd")
    ada, cyd = authors
    clients = [await sim.listen(bob) for _ in range(3)]
    shown: list[int] = []  # how many events each client was shown when the act was acknowledged

    async def act() -> None:
        await trio.sleep(sim.run.random.random() * 4)
        await hide(bob, ada)
        shown.extend(len(client.events) for client in clients)

    async with sim.run.together() as go:
        go(insisting, ada, name="ada")
        go(cyd.post, 5, name="cyd")
        go(act, name="act")
        for client in clients[:2]:
            go(hop, sim, client, name=client.name)
        go(sim.storm, name="storm")
    await sim.calm()
    for client, before in zip(clients, shown, strict=True):
        late = {client.authors.get(id) for kind, id in client.events[before:] if kind in ("update", "status.update")}
        assert ada.person.id not in late, client.name
        of_cyd = {id: text for id, text in client.timeline.items() if client.authors[id] == cyd.person.id}
        assert of_cyd == cyd.texts, client.name
    sim.run.sometimes(ada.person.id in clients[0].authors.values(), "posts were shown before the act")


async def insisting(author: Author) -> None:
    """Post until the server refuses."""
    try:
        await author.post(8)
    except Exception as error:
        if getattr(error, "status", None) not in (403, 404):
            raise


@simulation(seeds=1, faults=3, world=partial(cluster, nodes=3))
async def test_after_a_block_no_stream_on_any_node_shows_the_account(sim: SimulatedCluster) -> None:
    await hides(sim, lambda bob, ada: bob.block(ada.person))


@simulation(seeds=1, faults=3, world=partial(cluster, nodes=3))
async def test_after_a_mute_no_stream_on_any_node_shows_the_account(sim: SimulatedCluster) -> None:
    await hides(sim, lambda bob, ada: bob.mute(ada.person))


@simulation(seeds=1, faults=3, world=partial(cluster, nodes=3))
async def test_after_a_suspension_no_stream_on_any_node_shows_the_account(sim: SimulatedCluster) -> None:
    async def suspend(bob: Person, ada: Author) -> None:
        message = ModerateAccount(COMMAND_LINE, "suspend")
        await insist(sim, "staff", lambda: sim.runtime.ask(account_address(ada.person.id), message))

    await hides(sim, suspend)
