"""Scenarios that are played with the right rules and with broken ones."""

from troupe.actors.account import PerspectiveOf
from troupe.actors.broadcast.broadcast import home_address, list_address
from troupe.actors.broadcast.viewers import perspective_of
from troupe.actors.commands.blocks import Block, Unblock
from troupe.actors.commands.followed_tags import FollowTag, UnfollowTag
from troupe.actors.commands.follows import Follow, Unfollow
from troupe.actors.commands.lists import AddToList, ChangeList, CreateList, RemoveFromList
from troupe.actors.commands.mutes import Mute, Unmute
from troupe.actors.kernel import Refused
from troupe.actors.timelines.list import ListPage
from troupe.actors.timelines.timeline import Timeline
from troupe.storage import relations
from troupe.storage.upkeep.paging import Page
from troupe.supervision.testing.stage import PAGE, Person, Simulation

ON_THE_LIST = """
    SELECT s.id FROM statuses s JOIN list_accounts m ON m.account_id = s.account_id
    WHERE m.list_id = $1 AND s.deleted_at IS NULL ORDER BY s.id DESC
"""


EXCLUSIVE = "SELECT exclusive FROM lists WHERE id = $1"


async def page(sim: Simulation, owner: Person, id: int) -> list[int] | None:
    """The first page of a list, as the API would render it; None if the owner has no such list."""
    try:
        ids = await owner.insist(ListPage(owner.id, Page(PAGE)), list_address(id))
    except Refused as refusal:
        if refusal.status != 404:
            raise
        return None
    return await sim.shown(ids)


async def post(who: Person) -> None:
    for _ in range(2):
        await who.publish()


async def change_a_list_amid_posts(sim: Simulation) -> None:
    """Bob changes his list from an app that asks once for each change, while ada and cyd post."""
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    bob.has_followed(ada)
    bob.has_followed(cyd)
    mine = await bob.insist(CreateList("mine", "list", exclusive=False))
    address = list_address(mine.id)

    async def sort_people() -> None:
        await bob.attempt(AddToList(bob.id, (ada.id,)), address)
        await bob.attempt(AddToList(bob.id, (cyd.id,)), address)
        await bob.attempt(ChangeList(bob.id, exclusive=True), address)
        await bob.attempt(RemoveFromList(bob.id, (ada.id,)), address)

    assert await page(sim, bob, mine.id) == []
    await bob.home()
    async with sim.together() as go:
        go(sort_people, name="bob")
        go(post, ada, name="ada")
        go(post, cyd, name="cyd")
    await sim.calm()

    listed = [row["id"] for row in sim.database.rows(ON_THE_LIST, mine.id)]
    exclusive = sim.database.rows(EXCLUSIVE, mine.id)[0]["exclusive"]
    assert await page(sim, bob, mine.id) == listed, "the list shows what its members posted"
    hidden = listed if exclusive else []
    assert await bob.home() == [id for id in bob.belongs_at_home() if id not in hidden], "home shows the others"
    sim.sometimes(bool(listed), "an account stayed on the list")
    sim.sometimes(exclusive, "the list took its members away from home")


CHANGES = (Follow, Mute, Unmute, Block, Unblock, Follow, Unfollow)


async def change_ones_mind(sim: Simulation) -> None:
    """Bob does everything that he can do to ada, and asks once for each."""
    ada, bob = await sim.people("ada", "bob")
    for change in CHANGES:
        await bob.attempt(change(ada.id))
        assert await bob.insist(PerspectiveOf()) == stored_perspective(sim, bob), f"after {change.__name__}"
        await ada.publish()
        assert await bob.home() == bob.belongs_at_home(), f"at home after {change.__name__}"


def stored_perspective(sim: Simulation, person: Person) -> object:
    """The perspective as a restarted account would read it."""
    return perspective_of(person.id, sim.database.arrange(relations.relations, person.id))


CHOICES = (FollowTag("tea", "tea"), FollowTag("milk", "milk"), UnfollowTag("tea"), FollowTag("cocoa", "cocoa"))


async def choose_hashtags_amid_posts(sim: Simulation) -> None:
    """Bob changes the hashtags that he follows from an app that asks once for each change, while ada posts."""
    ada, bob = await sim.people("ada", "bob")
    await bob.home()

    async def choose() -> None:
        for choice in CHOICES:
            await bob.attempt(choice)
            assert await bob.insist(PerspectiveOf()) == stored_perspective(sim, bob), f"after {choice}"

    async def post_with_hashtags() -> None:
        for text in ("#tea", "#milk", "#cocoa", "nothing"):
            await ada.publish(text)

    async with sim.together() as go:
        go(choose, name="bob")
        go(post_with_hashtags, name="ada")
    await sim.calm()
    assert await bob.home() == bob.belongs_at_home(), "home shows the hashtags that bob follows"
    sim.sometimes(bool(await bob.home()), "a hashtag shows statuses")


async def read_with_little_memory(sim: Simulation) -> None:
    """Four homes are read and pushed to, and only one of them may be awake. Dan listens, so his is."""
    sim.actors.actor_context.shared_entries.most = lambda: 1
    ada, *readers = await sim.people("ada", "bob", "cyd", "dan", "eve")
    for reader in readers:
        reader.has_followed(ada)
    dan = readers[2]
    stream = await dan.stream()

    async def post() -> None:
        for _ in range(3):
            await ada.publish("hello")
        await ada.delete(ada.published[0])

    async def look(reader: Person) -> None:
        for _ in range(3):
            known = set(ada.published[1:])  # the first one is being deleted
            assert known <= set(await reader.home()), "a post is missing that was answered before"

    async with sim.together() as go:
        go(post, name="ada")
        for reader in readers:
            go(look, reader, name=reader.name)
    await sim.calm()
    assert set(stream.seen) >= set(ada.published) - set(ada.deleted), "a home slept while somebody listened"
    for reader in readers:
        assert await reader.home() == reader.belongs_at_home(), "the timeline is what the rows say"
    await sim.calm()
    held = [cell.actor for kind in ("home", "list", "public", "tag") for cell in sim.runtime.awake(kind)]
    places = sum(len(actor.window) for actor in held if isinstance(actor, Timeline))
    assert sim.actors.actor_context.shared_entries.places == places, "what sleeps holds nothing"
    awake = sim.runtime.awake_among(home_address(reader.id) for reader in readers)
    assert [cell.address for cell in awake] == [home_address(dan.id)], (
        "beyond the bound only listeners keep homes awake"
    )
