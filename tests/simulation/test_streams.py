"""A published status reaches every open stream, once and in order."""

import pytest
import trio

from troupe.actors.broadcast.broadcast import home_address
from troupe.actors.commands.edits import EditStatus
from troupe.actors.facts.fact import Facts
from troupe.actors.facts.statuses import PublishedStatus
from troupe.actors.kernel import Origin, resumption
from troupe.actors.outbox.fact_relay import FactRelay
from troupe.actors.outbox.relay import GATHER, Relay
from troupe.actors.timelines.timeline import MARGIN, SETTLED
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Person, Simulation, stage


@simulation(seeds=12, faults=3, pinned=[(5, "pct"), (29, "pct")], world=stage)
async def test_a_published_status_reaches_every_open_stream_once_and_in_order(sim: Simulation) -> None:
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    bob.has_followed(ada)
    bob.has_followed(cyd)
    streams = [await bob.stream(), await ada.stream(), await sim.public_stream()]

    async def publish_two(author: Person) -> None:
        await author.publish("one")
        await author.publish("two")

    async with sim.together() as go:
        go(publish_two, ada, name="ada")
        go(publish_two, cyd, name="cyd")
    await sim.calm()

    assert ada.published == sorted(ada.published)
    for stream, expected in zip(
        streams, (ada.published + cyd.published, ada.published, ada.published + cyd.published), strict=True
    ):
        assert set(stream.seen) == set(expected)
        if not stream.cuts:
            assert [id for id in stream.pushed if id in ada.published] == ada.published
    assert await bob.home() == bob.belongs_at_home()
    assert await sim.public_page() == sorted(ada.published + cyd.published, reverse=True)
    sim.sometimes(any(stream.cuts for stream in streams), "a client was cut and came back")
    sim.sometimes(sim.logged("actor.restored", actor=f"home/{bob.id}") > 0, "a home came back with a stream open")


@simulation(seeds=6, world=stage)
async def test_a_home_that_is_read_again_shows_nothing_from_before_its_first_stream(sim: Simulation) -> None:
    """A transaction that began then may have been slow, but not for this long."""
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    bob.has_followed(ada)
    await cyd.publish("@bob before")
    await bob.mute(ada)
    await ada.publish("unseen")
    await sim.calm()
    stream = await bob.stream()
    await trio.sleep((MARGIN + SETTLED).total_seconds() + 1)
    await bob.unmute(ada)
    sim.runtime.resync(home_address(bob.id))
    await sim.calm()
    after = await ada.publish("@bob after")
    await sim.calm()
    assert stream.pushed == [after]
    assert len(stream.notified) == 1


@simulation(seeds=20, world=stage)
async def test_a_stream_shows_nothing_that_was_published_long_before_it_was_opened(sim: Simulation) -> None:
    """Its home may have put that off: nobody asked it."""
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    await bob.home()
    before = await ada.publish("before")
    await sim.calm()
    stream = await bob.stream()
    after = await ada.publish("after")
    await sim.calm()
    assert stream.pushed == [after]
    assert await bob.home() == [after, before]


# Homes that take what is on its way for known are found within 8 runs.
@simulation(seeds=12, faults=2, pinned=[(2, "random")], world=stage)
async def test_a_stream_shows_what_is_published_while_its_reader_mutes_and_unmutes_others(sim: Simulation) -> None:
    """The end of a mute or of a block has the home read its rows again, and these may have what it was not told of."""
    ada, bob, cyd, dan = await sim.people("ada", "bob", "cyd", "dan")
    for followed in (ada, cyd):
        bob.has_followed(followed)
    stream = await bob.stream()

    async def post() -> None:
        for text in ("one", "two", "three"):
            await ada.publish(text)

    async def mute_and_unmute() -> None:
        await bob.mute(cyd)
        await bob.unmute(cyd)

    async def block_and_unblock() -> None:
        await dan.block(bob)
        await dan.unblock(bob)

    async with sim.together() as go:
        go(post, name="ada")
        go(mute_and_unmute, name="bob")
        go(block_and_unblock, name="dan")
    await sim.calm()

    assert set(stream.seen) == set(ada.published)
    if not stream.cuts:
        assert stream.pushed == ada.published
    assert await bob.home() == bob.belongs_at_home()


# The pinned runs find a relay that tells again what a turn has told while the relay waited for timelines, or told it.
@pytest.mark.parametrize(("relay", "step"), [(FactRelay, "_prepare"), (Relay, "_execute")])
@simulation(seeds=12, faults=2, pinned=[(0, "pct"), (21, "random")], world=stage)
async def test_a_slow_relay_tells_nothing_after_a_newer_status(
    sim: Simulation, monkeypatch: pytest.MonkeyPatch, relay: type, step: str
) -> None:
    """A stream that was not shown the older one, because its reader did not follow the author then, would show it."""
    (ada,) = await sim.people("ada")
    stream = await sim.public_stream()
    told: list[int] = []
    take_step, notify_actors = getattr(relay, step), PublishedStatus.notify_actors

    async def slowly(*arguments: object) -> object:
        """As when timelines are crowded, or when the database is slow."""
        await trio.sleep(GATHER)
        return await take_step(*arguments)

    async def note_notified(fact: PublishedStatus, facts: Facts, origin: Origin) -> None:
        await notify_actors(fact, facts, origin)
        told.append(fact.id)

    async def post() -> None:
        for _ in range(6):
            await trio.sleep(GATHER)
            await ada.publish("one")
            await ada.publish("two")

    async def look() -> None:
        for _ in range(12):
            sim.actors.outbox.wake()
            await trio.sleep(GATHER / 2)

    with monkeypatch.context() as patch:
        patch.setattr(relay, step, slowly)
        patch.setattr(PublishedStatus, "notify_actors", note_notified)
        async with sim.together() as go:
            go(post, name="ada")
            go(look, name="relay")
        await sim.calm()
    assert told == sorted(told)
    assert set(stream.seen) == set(ada.published)
    sim.sometimes(sim.late > 0, "the relay told something")


@simulation(seeds=2, world=stage)
async def test_a_stream_that_was_shown_more_than_its_home_remembers_shows_nothing_twice(
    sim: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The home reads its rows again, because of a hashtag and because of a mute, and has forgotten what it showed."""
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    bob.has_followed(ada)
    with monkeypatch.context() as patch:
        patch.setattr(resumption, "MEMORY", 20)
        stream = await bob.stream()
        for _ in range(30):
            await ada.publish()
        await sim.calm()  # a mailbox holds less than a feed remembers
        await bob.follow_tag("tea")
        await bob.mute(cyd)
        await bob.unmute(cyd)
        await ada.publish("the last")
        await sim.calm()
    assert stream.pushed == ada.published


@simulation(seeds=20, faults=2, world=stage)
async def test_a_status_that_an_edit_brings_onto_a_timeline_is_no_news_later(sim: Simulation) -> None:
    """Newer statuses of its author were shown before."""
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    stream = await bob.stream()
    first = await ada.publish("to nobody", visibility="direct")
    newer = await ada.publish("newer")
    await ada.insist(EditStatus(first, "to @bob"))
    await bob.follow_tag("tea")  # the home is read again
    await sim.calm()
    # After a crash the home may have read both statuses at once, behind the edit.
    assert stream.cuts or stream.pushed in ([newer], [first, newer])
    assert await bob.home() == [newer, first]
