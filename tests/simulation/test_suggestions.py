"""Suggestions while an account is dismissed or muted from one app and interacted with from another."""

from troupe.actors.account import PerspectiveOf
from troupe.actors.commands.favourites import Favourite
from troupe.actors.commands.reblogs import Reblog
from troupe.actors.commands.suggestions import DismissSuggestion
from troupe.actors.memory.suggestions import Suggestions
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Person, Simulation, insist, stage


async def suggested(sim: Simulation, viewer: Person) -> list[int]:
    """The accounts that the API would suggest."""
    perspective = await viewer.insist(PerspectiveOf())
    suggestions = Suggestions(sim.database, sim.run.clock)
    found = await insist(sim, viewer.name, lambda: suggestions.find(viewer.id, perspective))
    return [one.account_id for one in found]


@simulation(seeds=30, at_most=60, faults=3, world=stage)
async def test_a_dismissal_outlasts_interactions_and_follows(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    posts = [await ada.publish() for _ in range(3)]
    dismissed = False

    async def interact() -> None:
        await bob.insist(Favourite(posts[0]))
        await bob.insist(Reblog(posts[1]))
        await bob.insist(Favourite(posts[2]))

    async def change_ones_mind() -> None:
        await bob.follow(ada)
        await bob.unfollow(ada)

    async def dismiss() -> None:
        nonlocal dismissed
        await bob.insist(DismissSuggestion(ada.id))
        dismissed = True

    async def look() -> None:
        for _ in range(4):
            before = dismissed
            found = await suggested(sim, bob)
            assert not (before and found)
            sim.sometimes(bool(found), "ada was suggested before she was dismissed")

    async with sim.together() as go:
        go(interact, name="phone")
        go(change_ones_mind, name="laptop")
        go(dismiss, name="tablet")
        go(look, name="reader")
    await sim.calm()
    assert await suggested(sim, bob) == []


# The pinned run finds a mute that ends nothing, which others may take 24 runs for.
@simulation(seeds=16, at_most=60, faults=3, pinned=[(10, "pct")], world=stage)
async def test_a_mute_ends_what_was_before_it_and_not_what_comes_after_it(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    posts = [await ada.publish() for _ in range(4)]
    begun = over = late = early = False

    async def waver() -> None:
        nonlocal begun, over
        begun = True
        await bob.mute(ada)
        over = True
        assert await suggested(sim, bob) == []
        await bob.unmute(ada)

    async def interact() -> None:
        nonlocal late, early
        for post in posts:
            after = over
            await bob.insist(Favourite(post))
            late = late or after
        early = not begun

    async with sim.together() as go:
        go(interact, name="phone")
        go(waver, name="laptop")
    await sim.calm()

    found = await suggested(sim, bob)
    assert found == [ada.id] or not late, "a favourite after the mute suggests the account again"
    assert found == [] or not early, "favourites before the mute don't count"
    sim.sometimes(late, "there was a favourite after the mute")
    sim.sometimes(early, "all favourites were before the mute")
