"""Quotes race with what forbids and what ends them: rows, caches and streams agree at the end."""

from collections.abc import Sequence

import trio

from troupe.actors.commands.edits import EditStatus, SetQuotePolicy
from troupe.actors.commands.quotes import RevokeQuote
from troupe.actors.commands.statuses import PublishStatus
from troupe.actors.kernel import Refused
from troupe.actors.rules.visibility import ANONYMOUS
from troupe.actors.shown.statuses import quote_state
from troupe.storage.statuses import Status
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Person, Simulation, stage
from troupe.supervision.testing.stage.patience import insist
from troupe.supervision.testing.stage.stream import Stream

QUOTES = (
    "SELECT id, account_id, quote_state FROM statuses WHERE quote_state IS NOT NULL AND deleted_at IS NULL ORDER BY id"
)

WRONG_COUNTS = """
    SELECT s.id FROM statuses s JOIN status_counts c ON c.status_id = s.id
    WHERE s.deleted_at IS NULL AND c.quotes <> (
        SELECT count(*) FROM statuses q
        WHERE q.quote_of_id = s.id AND q.quote_state = 'accepted' AND q.deleted_at IS NULL
    )
"""


async def try_to_quote(person: Person, id: int, key: str = "once") -> int | None:
    """Return the id of the quote, None if it is refused. The app sends its key until it is answered."""
    try:
        made = await person.insist(PublishStatus("look", quoted_status_id=id, idempotency_key=key))
    except Refused as refusal:
        if refusal.status not in (403, 404):
            raise
        return None
    assert isinstance(made, Status)
    return made.id


def states(sim: Simulation) -> dict[int, str]:
    return {row["id"]: row["quote_state"] for row in sim.database.rows(QUOTES)}


async def check(sim: Simulation, original: int, streams: Sequence[Stream]) -> None:
    """Counts are right, and every reader sees each quote as the rows have it: on pages, and at last on streams."""
    assert sim.database.rows(WRONG_COUNTS) == []
    stored = states(sim)
    for id in (original, *stored):
        shown = await insist(sim, "anybody", lambda id=id: sim.actors.statuses.show(id))
        if shown is not None:
            (count,) = sim.database.rows("SELECT quotes FROM status_counts WHERE status_id = $1", id)
            assert shown.status.quotes_count == count["quotes"]
            assert quote_state(shown, ANONYMOUS) == stored.get(id)
    for stream in streams:
        for id, state in dict(stream.quotes).items():
            assert stream.cuts or id in stream.gone or state == stored.get(id), f"{stream.name} ends with {state}"


# A cache that learns of no change is found within 12 runs.
@simulation(seeds=24, at_most=60, faults=3, world=stage)
async def test_quotes_race_with_a_change_of_the_policy(sim: Simulation) -> None:
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    id = await ada.publish()
    stream = await sim.public_stream()
    changed = trio.Event()
    made: list[int | None] = []

    async def change() -> None:
        await ada.insist(SetQuotePolicy(id, "nobody"))
        changed.set()

    async def quote() -> None:
        made.append(await try_to_quote(bob, id))

    async def come_too_late() -> None:
        await changed.wait()
        assert await try_to_quote(cyd, id) is None, "the change was answered"

    async with sim.together() as go:
        go(change, name="ada")
        go(quote, name="bob")
        go(come_too_late, name="cyd")
    await sim.calm()
    assert states(sim) == {one: "accepted" for one in made if one is not None}
    await check(sim, id, [stream])
    told = sim.database.rows("SELECT account_id, status_id FROM notifications WHERE type = 'quote'")
    assert [(row["account_id"], row["status_id"]) for row in told] == [(ada.id, one) for one in states(sim)]
    sim.sometimes(None in made, "the change was first")
    sim.sometimes(None not in made, "the quote was first")


@simulation(seeds=16, faults=3, world=stage)
async def test_streams_end_with_the_policy_that_is_stored(sim: Simulation) -> None:
    """The last change is shown, also after a crash, and whether an edit is before or after it."""
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    id = await ada.publish()
    streams = [await sim.public_stream(), await bob.stream()]

    async def change() -> None:
        for policy in ("nobody", "followers"):
            await ada.insist(SetQuotePolicy(id, policy))

    async def edit() -> None:
        await ada.insist(EditStatus(id, "two"))

    async with sim.together() as go:
        go(change, name="ada's phone")
        go(edit, name="ada's laptop")
    await sim.calm()
    stored = sim.database.rows("SELECT text, quote_policy FROM statuses WHERE id = $1", id)
    assert [tuple(row.values()) for row in stored] == [("two", "followers")]
    assert sim.database.rows("SELECT count(*) AS states FROM status_edits")[0]["states"] == 2
    for stream in streams:
        if not stream.cuts:
            assert (stream.said[-1], stream.policies[id]) == ((id, "two"), "followers"), stream.name
    sim.sometimes(not all(stream.cuts for stream in streams), "a stream has shown all")


# What is announced twice is found within 15 runs.
@simulation(seeds=30, faults=3, world=stage)
async def test_a_revocation_races_with_edits_and_with_a_second_quote(sim: Simulation) -> None:
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    cyd.has_followed(bob)
    id = await ada.publish()
    streams = [await sim.public_stream(), await cyd.stream()]
    quoting = await try_to_quote(bob, id)
    assert quoting is not None

    async def revoke() -> None:
        await ada.insist(RevokeQuote(id, quoting))
        await ada.insist(RevokeQuote(id, quoting))

    async def edit() -> None:
        for text in ("two", "three"):
            await bob.insist(EditStatus(quoting, text))

    async with sim.together() as go:
        go(revoke, name="ada")
        go(edit, name="bob")
        go(try_to_quote, cyd, id, name="cyd")
    await sim.calm()
    assert states(sim) == {one: "revoked" if one == quoting else "accepted" for one in states(sim)}
    assert len(states(sim)) == 2
    await check(sim, id, streams)
    for stream in streams:
        said = [text for of, text in stream.said if of == quoting]
        assert stream.cuts or (said[-1] == "three" and said == sorted(said, key=["look", "two", "three"].index))


# Promises that are not stored are found within 11 runs.
@simulation(seeds=22, faults=3, pinned=[(5, "pct")], world=stage)
async def test_quotes_race_with_a_block(sim: Simulation) -> None:
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    cyd.has_followed(bob)
    id = await ada.publish()
    streams = [await sim.public_stream(), await cyd.stream()]
    earlier = await try_to_quote(bob, id, "before")
    assert earlier is not None
    made: list[int | None] = []

    async def quote() -> None:
        made.append(await try_to_quote(bob, id))

    async with sim.together() as go:
        go(ada.block, bob, name="ada")
        go(quote, name="bob")
        go(try_to_quote, cyd, id, name="cyd")
    assert await try_to_quote(bob, id, "after") is None
    await sim.calm()
    by_cyd = [row["id"] for row in sim.database.rows(QUOTES) if row["account_id"] == cyd.id]
    assert states(sim) == {one: "accepted" if one in by_cyd else "revoked" for one in states(sim)}
    assert len(by_cyd) == 1
    await check(sim, id, streams)
    told = sim.database.rows("SELECT from_account_id FROM notifications WHERE account_id = $1", ada.id)
    assert [row["from_account_id"] for row in told] == [cyd.id]
    sim.sometimes(None in made, "the block was first")
    sim.sometimes(None not in made, "the quote was first")


@simulation(seeds=16, at_most=60, faults=3, world=stage)
async def test_quotes_race_with_the_deletion_of_the_quoted_status(sim: Simulation) -> None:
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    id = await ada.publish()
    streams = [await sim.public_stream(), await bob.stream()]
    earlier = await try_to_quote(cyd, id, "before")
    assert earlier is not None
    made: list[int | None] = []

    async def quote() -> None:
        made.append(await try_to_quote(bob, id))

    async def change_ones_mind() -> None:
        await cyd.delete(earlier)

    async with sim.together() as go:
        go(ada.delete, id, name="ada")
        go(quote, name="bob")
        go(change_ones_mind, name="cyd")
    await sim.calm()
    assert states(sim) == {one: "deleted" for one in made if one is not None}
    await check(sim, id, streams)
    sim.sometimes(None in made, "the deletion was first")
    sim.sometimes(None not in made, "the quote was first")
