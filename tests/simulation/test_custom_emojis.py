"""Staff who add and remove emoji at the same time, while actors crash and commits are lost."""

from collections import Counter
from contextlib import suppress

from troupe.actors.commands.custom_emojis import AddEmoji, EmojiFiles, NewEmoji, RemoveEmoji
from troupe.actors.kernel import Refused
from troupe.actors.staff.acts import Staff
from troupe.storage.engine.database import Connection
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Simulation, stage
from troupe.supervision.testing.stage.people import Person


async def promote(db: Connection, account_id: int) -> None:
    await db.execute("UPDATE users SET role = 'admin' WHERE account_id = $1", account_id)


@simulation(seeds=20, faults=2, world=stage)
async def test_the_audit_log_has_what_became_of_each_emoji(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    for person in (ada, bob):
        sim.database.arrange(promote, person.id)

    async def add(person: Person, name: str, number: int, *, then_remove: bool = False) -> None:
        staff = Staff(person.id, "staff")
        files = EmojiFiles(f"{number:032x}.png", f"{number:032x}.png")
        with suppress(Refused):  # the other one was first, or the try before, whose answer was lost
            added = await person.insist(AddEmoji(staff, NewEmoji(name, files)))
            if then_remove:
                await person.insist(RemoveEmoji(staff, added.id))

    async with sim.together() as go:
        go(lambda: add(ada, "cat", 1), name="ada")
        go(lambda: add(ada, "owl", 2, then_remove=True), name="ada again")
        go(lambda: add(bob, "cat", 3), name="bob")
        go(lambda: add(bob, "dog", 4), name="bob again")
    await sim.calm()

    rows = sim.database.rows("SELECT shortcode FROM custom_emojis")
    names = Counter(row["shortcode"] for row in rows)
    assert [names["cat"], names["dog"]] == [1, 1]
    logged = Counter[str]()
    for row in sim.database.rows("SELECT action, target FROM audit_log"):
        logged[row["target"]] += 1 if row["action"] == "add_custom_emoji" else -1
    assert logged - Counter() == names
