"""Lists that change while their timelines are read and their members post."""

from troupe.actors.broadcast import list_address
from troupe.actors.commands.lists import AddToList, ChangeList, CreateList, RemoveFromList
from troupe.actors.timelines.list import ListPage
from troupe.storage.lists import List
from troupe.storage.paging import Page
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import PAGE, Person, Simulation, insist, stage

ON_THE_LIST = """
    SELECT s.id FROM statuses s JOIN list_accounts m ON m.account_id = s.account_id
    WHERE m.list_id = $1 AND s.deleted_at IS NULL ORDER BY s.id DESC
"""
EXCLUSIVE = "SELECT exclusive FROM lists WHERE id = $1"


async def change_a_list_amid_posts(sim: Simulation) -> None:
    """Bob changes his list from an app that asks once for each change, while ada and cyd post."""
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    bob.has_followed(ada)
    bob.has_followed(cyd)
    mine: List = await bob.insist(CreateList("mine", "list", exclusive=False))

    async def page() -> list[int]:
        query = ListPage(bob.id, Page(PAGE))
        return await sim.shown(await insist(sim, "bob", lambda: sim.runtime.ask(list_address(mine.id), query)))

    async def sort_people() -> None:
        await bob.attempt(AddToList(mine.id, (ada.id,)))
        await bob.attempt(AddToList(mine.id, (cyd.id,)))
        await bob.attempt(ChangeList(mine.id, None, None, exclusive=True))
        await bob.attempt(RemoveFromList(mine.id, (ada.id,)))

    async def post(who: Person) -> None:
        for _ in range(2):
            await who.publish()

    assert await page() == []
    await bob.home()
    async with sim.together() as go:
        go(sort_people, name="bob")
        go(post, ada, name="ada")
        go(post, cyd, name="cyd")
    await sim.calm()

    listed = [row["id"] for row in sim.run.database.rows(ON_THE_LIST, mine.id)]
    exclusive = sim.run.database.rows(EXCLUSIVE, mine.id)[0]["exclusive"]
    assert await page() == listed, "the list shows what its members posted"
    hidden = listed if exclusive else []
    assert await bob.home() == [id for id in bob.belongs_at_home() if id not in hidden], "home shows the others"
    sim.sometimes(bool(listed), "somebody stayed on the list")
    sim.sometimes(exclusive, "the list took its members away from home")


@simulation(seeds=60, faults=3, world=stage)
async def test_a_list_and_home_show_what_the_rows_say_however_a_change_was_interrupted(sim: Simulation) -> None:
    await change_a_list_amid_posts(sim)
