"""An account that was deleted leaves nothing, wherever a crash interrupts the erasing."""

from functools import partial

from troupe.actors.commands.account_deletions import DeleteAccount
from troupe.actors.kernel import Address
from troupe.supervision.testing import simulation
from troupe.supervision.testing.checks import Eventually
from troupe.supervision.testing.stage import Simulation, insist, stage

RETRIES = 600.0  # seconds, in which what failed several times is tried again
LEFT = """
    SELECT (SELECT count(*) FROM statuses WHERE account_id = $1 AND deleted_at IS NULL)
        + (SELECT count(*) FROM follows WHERE account_id = $1 OR target_account_id = $1)
        + (SELECT count(*) FROM users WHERE account_id = $1) AS count
"""
COUNTS = "SELECT followers, following FROM account_counts WHERE account_id = $1"


@simulation(seeds=60, faults=3, world=partial(stage, mail=True))
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
        return not sim.run.database.rows("SELECT FROM outbox WHERE kind = 'erase'")

    await Eventually(is_erased, "everything is erased", within=RETRIES).come_true()
    await sim.calm()

    assert not set(await bob.home()) & set(posted)
    assert sim.run.database.rows(LEFT, ada.id)[0]["count"] == 0
    assert [dict(row) for row in sim.run.database.rows(COUNTS, bob.id)] == [{"followers": 0, "following": 0}]
    assert stream.cuts or set(stream.gone) >= set(stream.pushed) & set(posted)
