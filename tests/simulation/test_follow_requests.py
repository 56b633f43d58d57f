"""Unlocking with people waiting, and mutes that end by themselves."""

import pytest
import trio

from troupe.actors.account import PerspectiveOf
from troupe.actors.commands import follow_requests as commands
from troupe.actors.commands.mutes import Mute
from troupe.actors.commands.profiles import UpdateProfile
from troupe.actors.rules.visibility import Perspective
from troupe.storage import follow_requests, mutes
from troupe.storage.follows import FollowTerms as StoredFollow
from troupe.storage.profiles import Profile
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Simulation, stage

UNLOCK = UpdateProfile(Profile(locked=False))
PENDING = "SELECT account_id FROM follow_requests WHERE target_account_id = $1 ORDER BY account_id"
FOLLOWERS = "SELECT account_id FROM follows WHERE target_account_id = $1 ORDER BY account_id"
HUNDREDS = 230


@pytest.fixture
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that an unlocking takes several transactions."""
    monkeypatch.setattr(commands, "AT_ONCE", 3)


@pytest.mark.usefixtures("few_at_once")
@simulation(seeds=12, faults=3, world=stage)
async def test_unlocking_accepts_all_who_wait_also_after_crashes(sim: Simulation) -> None:
    cyd = await sim.account("cyd", locked=True)
    waiting = await sim.people(*(f"w{number}" for number in range(7)))
    muted, late = await sim.people("mum", "late")
    now = sim.run.clock.now()
    for person in (*waiting, muted):
        sim.database.arrange(follow_requests.insert, StoredFollow(sim.new_id(), person.id, cyd.id), now)
    sim.database.arrange(mutes.insert_mute, sim.new_id(), cyd.id, muted.id, now)
    await waiting[0].home()

    async with sim.together() as go:
        go(cyd.insist, UNLOCK, name="cyd")
        go(late.follow, cyd, name="late")
        go(waiting[3].unfollow, cyd, name="w3")
    await sim.calm()

    expected = sorted(person.id for person in (*waiting, late) if person is not waiting[3])
    assert [row["account_id"] for row in sim.database.rows(FOLLOWERS, cyd.id)] == expected
    assert [row["account_id"] for row in sim.database.rows(PENDING, cyd.id)] == [muted.id]
    posted = await cyd.publish("welcome")
    assert await waiting[0].home() == [posted]
    for person in (*waiting, muted, late):
        assert await person.relation(cyd) == person.stored_relation(cyd)


@simulation(seeds=2, faults=3, world=stage)
async def test_hundreds_who_wait_may_follow_at_once(sim: Simulation) -> None:
    """With the transactions and mailboxes that this number really takes."""
    cyd = await sim.account("cyd", locked=True)
    waiting = await sim.people(*(f"w{number}" for number in range(HUNDREDS)))
    now = sim.run.clock.now()
    for person in waiting:
        sim.database.arrange(follow_requests.insert, StoredFollow(sim.new_id(), person.id, cyd.id), now)
    for person in waiting[:3]:
        await person.home()

    async with sim.together() as go:
        go(cyd.insist, UNLOCK, name="cyd")
        go(waiting[-1].unfollow, cyd, name="the last")
    await sim.calm()

    assert [row["account_id"] for row in sim.database.rows(FOLLOWERS, cyd.id)] == [p.id for p in waiting[:-1]]
    assert sim.database.rows(PENDING, cyd.id) == []
    posted = await cyd.publish("welcome")
    for person in waiting[:3]:
        assert await person.home() == [posted]


@simulation(seeds=12, faults=3, world=stage)
async def test_a_mute_that_ends_brings_the_muted_back(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    stream = await bob.stream()
    await bob.insist(Mute(ada.id, duration=500))
    await bob.insist(Mute(ada.id, duration=20))  # the later reminder must not wait for the earlier
    unheard = await ada.publish("into the void")
    assert await bob.home() == []
    await trio.sleep(20)
    await sim.calm()

    perspective: Perspective = await bob.insist(PerspectiveOf())
    assert ada.id not in perspective.muting
    assert sim.database.rows("SELECT FROM mutes") == []
    heard = await ada.publish("can you hear me")
    assert await bob.home() == [heard, unheard]
    await sim.calm()
    assert heard in stream.seen
