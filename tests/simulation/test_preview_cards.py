"""A status shows the card of the link that it has, also after crashes, whether its page or an edit comes first."""

from __future__ import annotations

from functools import partial

from troupe.actors.commands.edits import EditStatus
from troupe.storage.engine.database import Connection
from troupe.supervision.testing import simulation
from troupe.supervision.testing.run import Eventually
from troupe.supervision.testing.stage import Person, Simulation, stage
from troupe.supervision.testing.stage.patience import insist

with_previews = partial(stage, previews=True)

TEA, CAKE = "https://a.example/tea", "https://b.example/cake"
HOURS = 3 * 3600  # virtual seconds in which a page is tried again after each fault


async def all_fetched(sim: Simulation) -> None:
    """Wait until every page was fetched or given up."""

    def nothing_waits() -> bool:
        return not sim.database.rows("SELECT FROM outbox WHERE kind IN ('preview', 'card', 'edit')")

    await Eventually(nothing_waits, "every page is fetched", within=HOURS).wait_until_true()
    await sim.calm()


async def card_of(sim: Simulation, status: int) -> str | None:
    """The title of the card that the API would show, which is the address of its page."""
    shown = await insist(sim, "a reader", lambda: sim.actors.statuses.show(status))
    assert shown is not None
    return shown.status.card.facts.title if shown.status.card else None


async def edit(person: Person, status: int, text: str) -> None:
    await person.insist(EditStatus(status, text))


async def die(sim: Simulation) -> None:
    await sim.kill()
    await sim.start()


# Turns that interleave are found within 9 runs.
@simulation(seeds=16, at_most=60, faults=3, pinned=[(11, "pct")], world=with_previews)
async def test_every_status_gets_the_card_of_its_link(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    stream = await bob.stream()

    async def publish(person: Person) -> None:
        await person.publish(f"see {TEA}")

    async with sim.together() as go:
        go(publish, ada, name="ada")
        go(publish, bob, name="bob")
        go(ada.publish, f"see {CAKE}", name="ada again")
    await all_fetched(sim)
    statuses = {row["id"]: row["text"] for row in sim.database.rows("SELECT id, text FROM statuses")}
    assert len(statuses) == 3
    for status, text in statuses.items():
        assert f"see {await card_of(sim, status)}" == text
        if not stream.cuts:
            assert f"see {stream.cards[status]}" == text, "the stream has shown it with its card"
    assert len(sim.visits) >= 2
    sim.sometimes(len(sim.visits) == 2, "each page was fetched once")
    sim.sometimes(len(sim.visits) > 2, "a card was lost after its page was fetched")
    sim.sometimes(sim.logged("outbox.retry", effect="preview") > 0, "the site was away")


@simulation(seeds=20, faults=3, world=with_previews)
async def test_edits_and_deletions_race_with_the_page(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    stream = await bob.stream()
    moved, bare, deleted = [await ada.publish(f"see {TEA}") for _ in range(3)]
    began = len(sim.visits)
    async with sim.together() as go:
        go(edit, ada, moved, f"see {CAKE}", name="ada moves")
        go(edit, ada, bare, "see nothing", name="ada bares")
        go(ada.delete, deleted, name="ada deletes")
    await all_fetched(sim)
    assert await card_of(sim, moved) == CAKE
    assert await card_of(sim, bare) is None
    if not stream.cuts:
        assert (stream.cards[moved], stream.cards[bare]) == (CAKE, None), "what the stream has shown last"
    attached = [row["status_id"] for row in sim.database.rows("SELECT status_id FROM status_cards")]
    assert attached == [moved]
    sim.sometimes(began == 0 and TEA in sim.visits, "the first page came after its status was changed")
    sim.sometimes(TEA not in sim.visits, "the first page was never fetched")


@simulation(seeds=12, at_most=40, faults=2, pinned=[(7149, "pct"), (16, "random")], world=with_previews)
async def test_the_next_process_fetches_what_a_dead_one_has_left(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    async with sim.together() as go:
        go(ada.publish, f"see {TEA}", name="ada")
        go(die, sim, name="machine")
    await all_fetched(sim)
    (status,) = ada.published
    assert await card_of(sim, status) == TEA
    cards = sim.database.rows("SELECT count(*) AS cards, count(DISTINCT url) AS pages FROM preview_cards")
    assert [tuple(row.values()) for row in cards] == [(1, 1)]
    sim.sometimes(len(sim.visits) > 1, "it died between the page and the row")


@simulation(seeds=12, faults=2, world=with_previews)
async def test_a_new_card_reaches_all_its_statuses(sim: Simulation) -> None:
    """The page is fetched again after two weeks, and says something else."""
    ada, bob = await sim.people("ada", "bob")
    first = await ada.publish(f"see {TEA}")
    await all_fetched(sim)
    assert await card_of(sim, first) == TEA
    sim.database.arrange(_age)
    sim.titles[TEA] = "new"
    async with sim.together() as go:
        go(bob.publish, f"see {TEA}", name="bob")
        go(card_of, sim, first, name="a reader")
    await all_fetched(sim)
    assert [await card_of(sim, status) for status in (first, *bob.published)] == ["new", "new"]
    sim.sometimes(sim.visits == [TEA, TEA], "it was fetched as often as needed")


async def _age(db: Connection) -> None:
    await db.execute("UPDATE preview_cards SET fetched_at = fetched_at - interval '15 days'")
