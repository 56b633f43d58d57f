"""Two servers: what one has answered arrives at the other once, and in the end both agree, whatever happens between."""

from __future__ import annotations

from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import TwoServers, two_servers

from . import federation
from .federation import FAULTS


@simulation(seeds=5, faults=FAULTS, world=two_servers)
async def test_people_find_each_other_and_follow(sim: TwoServers) -> None:
    ada, bob = await sim.north.account("ada"), await sim.south.account("bob")
    ada_there = await sim.find(ada)
    await bob.follow(ada_there)
    await sim.calm()
    status = await ada.publish("hello")
    await sim.calm()
    assert federation.uris(sim.south, await bob.home()) == federation.uris(sim.north, [status])


@simulation(seeds=8, faults=FAULTS, world=two_servers)
async def test_each_acknowledged_post_arrives_once_also_when_servers_are_killed(sim: TwoServers) -> None:
    await federation.posts_amid_crashes(sim)


@simulation(
    seeds=20, at_most=40, faults=FAULTS, world=two_servers,
    pinned=[
        (21, "pct"), (24, "pct"), (38, "random"), (42, "pct"), (92, "pct"), (180, "random"),
        (31, "random"), (52, "pct"),  # which find the bugs that are planted
    ],
)  # fmt: skip
async def test_both_servers_agree_who_follows_whom(sim: TwoServers) -> None:
    await federation.follows_change_on_both_sides(sim)


# Blocked accounts that can follow are found within 7 runs.
@simulation(seeds=14, faults=FAULTS, world=two_servers)
async def test_a_block_ends_what_is_shown_amid_deliveries(sim: TwoServers) -> None:
    await federation.block_meets_deliveries(sim)


@simulation(seeds=8, faults=FAULTS, world=two_servers)
async def test_two_votes_at_once_are_one_on_both_servers(sim: TwoServers) -> None:
    await federation.votes_at_once(sim)


@simulation(seeds=10, faults=FAULTS, world=two_servers)
async def test_edits_and_deletions_amid_deliveries_end_alike(sim: TwoServers) -> None:
    await federation.changes_meet_deliveries(sim)


@simulation(seeds=8, at_most=20, faults=FAULTS, world=two_servers, pinned=[(7, "random")])
async def test_followers_of_an_account_that_moves_follow_the_new_one(sim: TwoServers) -> None:
    await federation.move_meets_follows(sim)


@simulation(seeds=5, faults=FAULTS, world=federation.asking_again_soon)
async def test_servers_that_know_other_followers_agree_after_a_post_for_them(sim: TwoServers) -> None:
    await federation.follows_differ(sim)
