"""An account that was deleted leaves nothing, wherever a crash interrupts the erasing."""

from functools import partial

from troupe.actors.commands.account_deletions import DeleteAccount, mark_deleted
from troupe.actors.effects.account_deletions import account_purged
from troupe.actors.kernel import Address
from troupe.actors.staff.acts import COMMAND_LINE, StaffAct
from troupe.storage.accounts import NewAccount
from troupe.storage.engine.database import Connection
from troupe.supervision.testing import simulation
from troupe.supervision.testing.run import Eventually
from troupe.supervision.testing.stage import Simulation, insist, stage

from ..rows import create_account

RETRIES = 600.0  # seconds, in which what failed several times is tried again
LEFT = """
    SELECT (SELECT count(*) FROM statuses WHERE account_id = $1 AND deleted_at IS NULL)
        + (SELECT count(*) FROM follows WHERE account_id = $1 OR target_account_id = $1)
        + (SELECT count(*) FROM users WHERE account_id = $1) AS count
"""
COUNTS = "SELECT followers, following FROM account_counts WHERE account_id = $1"


# An effect that is taken before it is done is found within 13 runs. The pinned run finds an account that is cached as
# before a commit whose answer was lost.
@simulation(seeds=26, faults=3, pinned=[(1100013, "pct")], world=partial(stage, mail=True))
async def test_nothing_is_left_after_any_crash(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    ada.has_followed(bob)
    stream = await bob.stream()
    posted = [await ada.publish(str(number)) for number in range(3)]

    async def delete() -> None:
        address = Address("account", str(ada.id))
        await insist(sim, "ada", lambda: sim.runtime.ask(address, DeleteAccount()))

    async def look() -> None:
        for _ in range(3):
            await bob.home()

    async with sim.together() as go:
        go(delete, name="ada")
        go(look, name="bob")
    assert not any([await bob.sees(status) for status in posted]), "hidden from the answer on"

    def is_erased() -> bool:
        return not sim.database.rows("SELECT FROM outbox WHERE kind = 'erase'")

    await Eventually(is_erased, "everything is erased", within=RETRIES).wait_until_true()
    await sim.calm()

    assert not set(await bob.home()) & set(posted)
    assert sim.database.rows(LEFT, ada.id)[0]["count"] == 0
    assert [dict(row) for row in sim.database.rows(COUNTS, bob.id)] == [{"followers": 0, "following": 0}]
    assert stream.cuts or set(stream.gone) >= set(stream.pushed) & set(posted)


@simulation(seeds=12, faults=3, world=stage)
async def test_no_row_of_a_purged_account_is_left_after_any_crash(sim: Simulation) -> None:
    (bob,) = await sim.people("bob")
    id, uri = sim.new_id(), "https://far.example/users/far"
    now = sim.run.clock.now()
    sim.database.arrange(create_account, NewAccount(id, "far", "far.example", uri, uri), now)
    sim.database.arrange(follow_rows, sim.new_id(), bob.id, id)
    sim.database.arrange(status_rows, sim.new_id(), id)

    async def purge(db: Connection) -> None:
        act = StaffAct.of(sim.actors.actor_context, db, COMMAND_LINE)
        await mark_deleted(act, id)
        act.promise(account_purged(id))
        await act.write_promises()

    sim.database.arrange(purge)
    sim.actors.outbox.wake()

    async def look() -> None:
        for _ in range(3):
            await bob.home()

    async with sim.together() as go:
        go(look, name="bob")

    def is_erased() -> bool:
        return not sim.database.rows("SELECT FROM outbox WHERE kind = 'erase'")

    await Eventually(is_erased, "everything is erased", within=RETRIES).wait_until_true()
    await sim.calm()

    assert sim.database.rows("SELECT FROM accounts WHERE domain IS NOT NULL") == []
    assert sim.database.rows("SELECT FROM statuses WHERE account_id = $1", id) == []
    assert [dict(row) for row in sim.database.rows(COUNTS, bob.id)] == [{"followers": 0, "following": 0}]


async def follow_rows(db: Connection, id: int, follower: int, followed: int) -> None:
    await db.execute(
        "INSERT INTO follows (id, account_id, target_account_id, created_at) VALUES ($1, $2, $3, now())",
        id, follower, followed,
    )  # fmt: skip
    await db.execute("UPDATE account_counts SET following = following + 1 WHERE account_id = $1", follower)
    await db.execute("UPDATE account_counts SET followers = followers + 1 WHERE account_id = $1", followed)


async def status_rows(db: Connection, id: int, author: int) -> None:
    await db.execute(
        "INSERT INTO statuses (id, account_id, uri, local, visibility, conversation_id, created_at)"
        " VALUES ($1, $2, 'https://far.example/1', false, 'public', $1, now())",
        id, author,
    )  # fmt: skip
    await db.execute("INSERT INTO status_counts (status_id) VALUES ($1)", id)
    await db.execute("UPDATE account_counts SET statuses = statuses + 1 WHERE account_id = $1", author)
