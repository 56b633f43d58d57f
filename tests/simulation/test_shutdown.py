"""The server stops, or is killed, in the middle of everything."""

from troupe.actors.commands.statuses import PublishStatus
from troupe.actors.kernel import NotAnswered
from troupe.storage.engine.database import StorageError
from troupe.storage.statuses import Status
from troupe.supervision.testing import Fault, simulation
from troupe.supervision.testing.stage import Person, Simulation, stage


@simulation(seeds=16, faults=2, pinned=[(113, "random"), (113, "pct")], world=stage)
async def test_a_shutdown_leaves_no_asker_without_an_answer(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    stream = await bob.stream()
    answered: list[int] = []
    refused: list[str] = []

    async def post(author: Person) -> None:
        for _ in range(3):
            try:
                made = await author.ask(PublishStatus("hello"))
                assert isinstance(made, Status)
                answered.append(made.id)
            except (NotAnswered, StorageError) as error:
                refused.append(type(error).__name__)

    async with sim.together() as go:
        go(post, ada, name="ada")
        go(post, bob, name="bob")
        go(sim.stop, name="SIGTERM")

    assert len(answered) + len(refused) == 6
    children = sim.logged("child.started")
    assert sim.logged("child.stopped") == children
    if Fault.AWAY not in {point.fault for point in sim.run.faults.struck}:
        assert sim.logged("child.stopped", decision="in order") == children
    stored = {row["id"] for row in sim.database.rows("SELECT id FROM statuses")}
    assert set(answered) <= stored
    sim.sometimes("Stopping" in refused, "an asker was told that the server stops")
    sim.sometimes(len(answered) in range(1, 6), "some were answered and some were not")

    await sim.start()
    await sim.calm()
    assert await bob.home() == bob.belongs_at_home()
    assert stored <= set(stream.seen)


@simulation(seeds=16, faults=2, world=stage)
async def test_a_killed_server_forgets_nothing_that_it_said(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    stream = await bob.stream()

    async def post() -> None:
        for _ in range(3):
            await ada.publish("hello")

    async def kill() -> None:
        await sim.kill()
        await sim.start()

    async with sim.together() as go:
        go(bob.follow, ada, name="bob")
        go(post, name="ada")
        go(kill, name="SIGKILL")
    await sim.calm()

    assert len(sim.database.rows("SELECT FROM statuses")) == 3
    assert await bob.home() == bob.belongs_at_home() == ada.published[::-1]
    assert stream.cuts
