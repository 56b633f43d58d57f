"""Interactions of many accounts with one status: counts, flags and timelines agree with the rows."""

import trio

from troupe.actors.account import ViewerFlags
from troupe.actors.commands.edits import EditStatus
from troupe.actors.commands.favourites import Favourite, Unfavourite
from troupe.actors.commands.polls import Vote
from troupe.actors.commands.reblogs import Reblog, Unreblog
from troupe.actors.commands.statuses import PublishStatus
from troupe.actors.kernel import Message, Refused
from troupe.actors.rules.polls import PollTerms
from troupe.storage import status_flags, statuses
from troupe.storage.statuses import Status
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Person, Simulation, insist, stage

WRONG_COUNTS = """
    SELECT s.id FROM statuses s JOIN status_counts c ON c.status_id = s.id
    WHERE c.favourites <> (SELECT count(*) FROM favourites f WHERE f.status_id = s.id)
    OR c.reblogs <> (SELECT count(*) FROM statuses b WHERE b.reblog_of_id = s.id AND b.deleted_at IS NULL)
"""

WRONG_POLLS = """
    SELECT p.id FROM polls p
    WHERE p.voters_count <> (SELECT count(DISTINCT v.account_id) FROM poll_votes v WHERE v.poll_id = p.id)
    OR EXISTS (
        SELECT FROM poll_options o WHERE o.poll_id = p.id
        AND o.votes <> (SELECT count(*) FROM poll_votes v WHERE v.poll_id = p.id AND v.position = o.position)
    )
"""

ORPHANED_BOOSTS = """
    SELECT b.id FROM statuses b JOIN statuses o ON o.id = b.reblog_of_id
    WHERE b.deleted_at IS NULL AND o.deleted_at IS NOT NULL
"""


async def try_all(person: Person, *commands: Message[object]) -> None:
    """One after the other; what is gone by then is no mistake of the person's."""
    for command in commands:
        try:
            await person.insist(command)
        except Refused as refusal:
            if refusal.status not in (404, 422):
                raise


async def remembered(sim: Simulation, id: int) -> Status | None:
    """The status as the server would show it."""
    shown = await insist(sim, "anybody", lambda: sim.actors.statuses.show(id))
    return shown.status if shown is not None else None


def stored(sim: Simulation, id: int) -> Status | None:
    return sim.database.arrange(statuses.find, id)


async def flags_are_true(sim: Simulation, person: Person, id: int) -> bool:
    part = await person.insist(ViewerFlags((id,)))
    return part.flags == sim.database.arrange(status_flags.viewer_flags, person.id, [id])


@simulation(seeds=14, faults=3, world=stage)
async def test_favourites_are_counted_and_told_as_they_are(sim: Simulation) -> None:
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    id = await ada.publish("hi")
    stream = await ada.stream()

    async def look() -> None:
        for _ in range(4):
            seen = await remembered(sim, id)
            assert seen is not None
            assert 0 <= seen.favourites_count <= 2

    async with sim.together() as go:
        go(try_all, bob, Favourite(id), Unfavourite(id), Favourite(id), name="bob")
        go(try_all, cyd, Favourite(id), Unfavourite(id), name="cyd")
        go(look, name="reader")
    await sim.calm()

    assert sim.database.rows(WRONG_COUNTS) == []
    assert await remembered(sim, id) == stored(sim, id)
    for person in (bob, cyd):
        assert await flags_are_true(sim, person, id)
    told = sim.database.rows("SELECT id, from_account_id FROM notifications")
    assert [row["from_account_id"] for row in told] == [bob.id]
    assert stream.cuts or {row["id"] for row in told} <= set(stream.notified)


@simulation(seeds=20, at_most=40, faults=3, world=stage)
async def test_boosts_come_and_go_while_their_original_is_deleted(sim: Simulation) -> None:
    ada, bob, cyd, dan = await sim.people("ada", "bob", "cyd", "dan")
    dan.has_followed(bob)
    dan.has_followed(cyd)
    id = await ada.publish("hi")
    stream = await dan.stream()

    async with sim.together() as go:
        go(try_all, bob, Reblog(id), Unreblog(id), Reblog(id), name="bob")
        go(try_all, cyd, Reblog(id), name="cyd")
        go(ada.delete, id, name="ada")
    await sim.calm()

    assert sim.database.rows(ORPHANED_BOOSTS) == []
    assert sim.database.rows(WRONG_COUNTS) == []
    assert sim.database.rows("SELECT FROM notifications") == []
    assert await dan.home() == []
    assert stream.cuts or set(stream.pushed) <= set(stream.gone)
    sim.sometimes(bool(stream.pushed), "a boost was seen before the deletion")
    sim.sometimes(not sim.database.rows("SELECT FROM statuses WHERE reblog_of_id IS NOT NULL"), "it came too late")


# A cache that learns of no change is found within 12 runs.
@simulation(seeds=24, faults=3, world=stage)
async def test_one_boost_a_person_and_what_is_boosted_stays(sim: Simulation) -> None:
    ada, bob, dan = await sim.people("ada", "bob", "dan")
    dan.has_followed(bob)
    id = await ada.publish("hi")
    stream = await dan.stream()

    async with sim.together() as go:
        go(try_all, bob, Reblog(id), Unreblog(id), name="phone")
        go(try_all, bob, Reblog(id), name="laptop")
    await sim.calm()

    boosts = [
        row["id"]
        for row in sim.database.rows("SELECT id FROM statuses WHERE reblog_of_id IS NOT NULL AND deleted_at IS NULL")
    ]
    assert len(boosts) <= 1
    assert await dan.home() == boosts
    assert await remembered(sim, id) == stored(sim, id)
    assert await flags_are_true(sim, bob, id)
    assert stream.cuts or set(stream.pushed) - set(stream.gone) == set(boosts)


@simulation(seeds=14, faults=3, world=stage)
async def test_votes_race_with_the_end_of_the_poll(sim: Simulation) -> None:
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    terms = PollTerms(("yes", "no"), seconds=2)
    asked = await ada.insist(PublishStatus("?", poll=terms, idempotency_key="once"))
    assert isinstance(asked, Status)
    assert asked.poll is not None

    async def vote(person: Person, choice: int, later: float) -> None:
        await trio.sleep(later)
        await try_all(person, Vote(asked.id, asked.poll_id or 0, (choice,)))

    async with sim.together() as go:
        go(vote, bob, 0, 0.0, name="bob")
        go(vote, cyd, 1, 1.9, name="cyd")
    await sim.calm()

    assert sim.database.rows(WRONG_POLLS) == []
    assert await remembered(sim, asked.id) == stored(sim, asked.id)
    voters = {row["account_id"] for row in sim.database.rows("SELECT account_id FROM poll_votes")}
    told = [row["account_id"] for row in sim.database.rows("SELECT account_id FROM notifications WHERE type = 'poll'")]
    assert sorted(told) == sorted({ada.id, *voters})
    for person in (bob, cyd):
        assert await flags_are_true(sim, person, asked.id)
    sim.sometimes(cyd.id in voters, "the late vote counted")
    sim.sometimes(cyd.id not in voters, "the late vote was too late")


@simulation(seeds=20, faults=3, world=stage)
async def test_votes_race_with_the_deletion_and_with_other_options(sim: Simulation) -> None:
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    terms = PollTerms(("yes", "no"), seconds=5)
    asked = await ada.insist(PublishStatus("?", poll=terms, idempotency_key="once"))
    assert isinstance(asked, Status)
    anew = EditStatus(asked.id, "?", poll=PollTerms(("yes", "no", "well"), seconds=5))

    async def reconsider() -> None:
        await ada.insist(anew)
        await ada.delete(asked.id)

    async with sim.together() as go:
        for number, person in enumerate((bob, cyd)):
            go(try_all, person, Vote(asked.id, asked.poll_id or 0, (number,)), name=person.name)
        go(reconsider, name="ada")
    assert sim.database.rows(WRONG_POLLS) == []
    await sim.calm()
    assert sim.database.rows(WRONG_POLLS) == []
    assert sim.database.rows("SELECT FROM notifications") == []


# Promises that are not stored are found within 10 runs.
@simulation(seeds=20, faults=3, pinned=[(28, "pct")], world=stage)
async def test_edits_race_with_fan_out_and_with_readers(sim: Simulation) -> None:
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    bob.has_followed(ada)
    cyd.has_followed(bob)
    texts = ["one", "two", "three"]
    near, far, public = await bob.stream(), await cyd.stream(), await sim.public_stream()
    written = trio.Event()

    async def write() -> None:
        id = await ada.publish(texts[0])
        written.set()
        for text in texts[1:]:
            await ada.insist(EditStatus(id, text))

    async def boost() -> None:
        await written.wait()
        await try_all(bob, Reblog(ada.published[0]))

    async def read() -> None:
        await written.wait()
        seen: list[int] = []
        for _ in range(5):
            status = await remembered(sim, ada.published[0])
            assert status is not None
            seen.append(texts.index(status.text))
        assert seen == sorted(seen)

    async with sim.together() as go:
        go(write, name="ada")
        go(boost, name="bob")
        go(read, name="reader")
    (id,) = ada.published
    status = await remembered(sim, id)
    assert status is not None
    assert status.text == "three"
    await sim.calm()

    assert await remembered(sim, id) == stored(sim, id)
    states = sim.database.rows("SELECT text FROM status_edits ORDER BY id")
    assert [row["text"] for row in states] == texts
    for stream in (near, public):
        said = [text for of, text in stream.said if of == id]
        assert stream.cuts or (said[-1] == "three" and said == sorted(said, key=texts.index))
    sim.sometimes(any(of == id for of, _ in far.said), "who has the boost heard of an edit")
