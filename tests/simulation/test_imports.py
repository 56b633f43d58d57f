"""An import loses no line and does nothing twice, wherever a crash interrupts it, here or at the other server."""

import trio

from troupe.actors.commands.imports import StartImport
from troupe.actors.kernel import Address, Refused
from troupe.actors.outbox.relay import LEASE
from troupe.storage.imports import ImportLine
from troupe.supervision.testing import Budget, Fault, simulation, sweep
from troupe.supervision.testing.stage import Simulation, TwoServers, insist, stage, two_servers

from . import federation

RETRIES = 600  # seconds, in which what failed several times is tried again
LONGEST = 6000  # seconds: a server that is away is tried four times
RUNNING = "SELECT FROM imports WHERE finished_at IS NULL"
FINISHED = "SELECT FROM imports WHERE finished_at IS NOT NULL"
LINES = """
    SELECT l.number, l.done, l.error IS NOT NULL AS failed, i.finished_at IS NOT NULL AS finished
    FROM import_lines l JOIN imports i ON i.id = l.import_id ORDER BY l.number
"""
FOLLOWS = "SELECT target_account_id AS id FROM follows WHERE account_id = $1 ORDER BY id"
FOLLOWED = """
    SELECT a.username FROM follows f JOIN accounts a ON a.id = f.target_account_id WHERE f.account_id = $1
"""
NOTIFICATIONS = "SELECT account_id FROM notifications WHERE type = 'follow' AND from_account_id = $1"
COUNTS = "SELECT following FROM account_counts WHERE account_id = $1"


@simulation(seeds=12, faults=3, world=stage)
async def test_each_line_is_carried_out_once_after_some_crashes(sim: Simulation) -> None:
    await import_follows(sim)


@sweep(world=stage, faults=Budget(1, frozenset({Fault.LOST})))
async def test_each_line_is_carried_out_once_after_a_crash_at_any_point(sim: Simulation) -> None:
    await import_follows(sim)


async def import_follows(sim: Simulation) -> None:
    ada, bob, carl, dora = await sim.people("ada", "bob", "carl", "dora")
    ada.has_followed(dora)
    lines = tuple(ImportLine(number, name, {}) for number, name in enumerate(("bob", "carl", "nobody"), 1))

    async def start() -> None:
        command = StartImport("following", overwrite=True, lines=lines)
        try:
            await insist(sim, "ada", lambda: sim.runtime.ask(Address("account", str(ada.id)), command))
        except Refused:  # the answer to an earlier attempt was lost
            assert sim.database.rows("SELECT FROM imports")

    async with sim.together() as go:
        go(start, name="ada")
    await until_finished(sim)
    await sim.calm()

    wanted = sorted(person.id for person in (bob, carl))
    assert [row["id"] for row in sim.database.rows(FOLLOWS, ada.id)] == wanted
    assert sorted(row["account_id"] for row in sim.database.rows(NOTIFICATIONS, ada.id)) == wanted
    assert sim.database.rows(COUNTS, ada.id)[0]["following"] == 2
    rows = sim.database.rows(LINES)
    assert len(rows) % 3 == 0
    assert all(row["done"] and row["finished"] and row["failed"] == (row["number"] == 3) for row in rows)


@simulation(seeds=4, faults=federation.FAULTS, world=two_servers)
async def test_accounts_of_another_server_are_looked_up_amid_crashes(sim: TwoServers) -> None:
    await sim.north.people("ada", "dora")
    bob = await sim.south.account("bob")
    domain = sim.north.place.domain
    names = ("ada", "dora", "nobody")
    lines = tuple(ImportLine(number, f"{name}@{domain}", {}) for number, name in enumerate(names, 1))

    async def start() -> None:
        await bob.attempt(StartImport("following", overwrite=True, lines=lines))

    async with sim.together() as go:
        go(start, name="bob")
        go(federation.fails_and_returns, sim, sim.run.random.choice(sim.servers), name="SIGKILL")
    with trio.move_on_after(LONGEST):
        while sim.south.database.rows(RUNNING):  # noqa: ASYNC110 - as everywhere in simulated time
            await trio.sleep(30)
    await sim.calm()

    assert not sim.south.database.rows(RUNNING)
    if sim.south.database.rows(FINISHED):  # the request was not lost
        assert sorted(row["username"] for row in sim.south.database.rows(FOLLOWED, bob.id)) == ["ada", "dora"]
        rows = sim.south.database.rows(LINES)
        assert [row["number"] for row in rows if row["failed"]] == [3]


async def until_finished(sim: Simulation) -> None:
    """Wait for the import, and then until what a dead process had claimed would be carried out a second time."""
    for _ in range(RETRIES // 5):
        await trio.sleep(5)
        if sim.database.rows(FINISHED):
            break
    await trio.sleep(LEASE + 5)
