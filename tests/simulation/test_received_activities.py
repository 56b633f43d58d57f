"""What other servers tell takes effect once and ends the same in every order, also when the server dies in between."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import trio

from troupe.actors.activitypub.normalization import normalize
from troupe.actors.activitypub.notes import read_note
from troupe.actors.commands.follow_requests import RejectRequest
from troupe.actors.commands.received_statuses import ReceiveStatus
from troupe.actors.kernel import Refused
from troupe.supervision.testing import Budget, Fault, simulation, sweep
from troupe.supervision.testing.run import Eventually
from troupe.supervision.testing.stage import Simulation

from . import receiving
from .foreign import Foreigner
from .receiving import CRASHES, HERE, act, all_applied, create, in_some_order, note, receive_at_once, with_servers


@simulation(seeds=10, faults=2, world=with_servers)
async def test_a_follow_that_is_undone_ends_in_no_follow_in_every_order(sim: Simulation) -> None:
    await receiving.follow_and_undo_in_every_order(sim)


@simulation(seeds=10, faults=2, world=with_servers)
async def test_an_acceptance_that_is_undone_ends_in_no_follow_in_every_order(sim: Simulation) -> None:
    await receiving.accept_and_undo_in_every_order(sim)


# Activities that lose their place are found within 19 runs.
@simulation(seeds=38, faults=CRASHES, world=with_servers)
async def test_what_was_undone_stays_undone_when_the_account_crashes(sim: Simulation) -> None:
    """Its activities are put aside then, and applied later."""
    await receiving.undo_amid_crashes(sim)


@simulation(seeds=16, faults=2, world=with_servers)
async def test_answers_to_a_request_open_a_follow_at_most_once(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob, mallory = Foreigner(sim, "bob", "b.example"), Foreigner(sim, "mallory", "m.example")
    asked = {"type": "Follow", "actor": f"{HERE}/ada", "object": bob.uri}
    await receive_at_once(sim, [act(mallory, "Accept", asked), act(bob, "Accept", asked, 1)])
    await all_applied(sim)
    assert not sim.database.rows("SELECT FROM follows"), "nobody has asked"
    await ada.follow(bob)
    await receive_at_once(sim, [act(mallory, "Accept", asked, 2), act(bob, "Accept", asked, 2)])
    await all_applied(sim)
    rows = sim.database.rows("SELECT account_id, target_account_id FROM follows")
    assert [tuple(row.values()) for row in rows] == [(ada.id, bob.id)]
    await sim.receive(act(bob, "Reject", asked, 3))
    await all_applied(sim)
    assert not sim.database.rows("SELECT FROM follows UNION ALL SELECT FROM follow_requests")


@sweep(faults=Budget(1, frozenset({Fault.CRASH_AFTER, Fault.LOST, Fault.DOUBT_DONE})), world=with_servers)
async def test_a_rejected_request_stays_rejected_also_if_it_was_put_aside(sim: Simulation) -> None:
    """A Follow that was stored, and whose turn then crashed, is applied once more later."""
    ada, bob = await sim.account("ada", locked=True), Foreigner(sim, "bob", "b.example")

    def asks() -> bool:
        return bool(sim.database.rows("SELECT FROM follow_requests"))

    for number in (1, 2):
        await sim.receive(act(bob, "Follow", f"{HERE}/ada", number))
        await Eventually(asks, "bob asks", within=receiving.HOURS).wait_until_true()
        await trio.sleep(1)
        with suppress(Refused):  # by the try before, whose answer was lost
            await ada.insist(RejectRequest(bob.id))
        assert not asks()
        await all_applied(sim)
        assert not asks()


@simulation(seeds=4, world=with_servers)
async def test_a_late_rejection_of_a_request_that_was_undone_does_not_end_the_next_one(sim: Simulation) -> None:
    """Some servers answer the Undo of a Follow with a Reject, and name the Follow by its URI alone."""
    ada, bob = await sim.account("ada"), Foreigner(sim, "bob", "b.example")
    await ada.follow(bob)
    (first,) = sim.database.rows("SELECT uri FROM follow_requests")
    await ada.unfollow(bob)
    await ada.follow(bob)
    for number, named in enumerate((first["uri"], {"id": first["uri"], "type": "Follow", "actor": f"{HERE}/ada"})):
        await sim.receive(act(bob, "Reject", named, number))
        await all_applied(sim)
        assert sim.database.rows("SELECT FROM follow_requests")
    (second,) = sim.database.rows("SELECT uri FROM follow_requests")
    await sim.receive(act(bob, "Reject", second["uri"], 2))
    await all_applied(sim)
    assert not sim.database.rows("SELECT FROM follow_requests")


# The pinned run finds forgotten tombstones, which others may take 29 runs for.
@simulation(seeds=20, faults=2, pinned=[(7, "random")], world=with_servers)
async def test_a_deleted_post_is_gone_in_every_order_from_two_inboxes(sim: Simulation) -> None:
    await receiving.create_edit_and_delete_in_every_order(sim)


@simulation(seeds=12, faults=2, world=with_servers)
async def test_the_last_edit_stays_in_every_order_from_two_inboxes(sim: Simulation) -> None:
    await receiving.edits_in_every_order(sim)


@simulation(seeds=12, faults=CRASHES, world=with_servers)
async def test_edits_of_one_second_are_applied_in_their_order_when_the_account_crashes(sim: Simulation) -> None:
    await receiving.edits_of_one_second(sim)


@simulation(seeds=10, faults=2, world=with_servers)
async def test_two_choices_at_once_are_both_counted_and_the_voter_once(sim: Simulation) -> None:
    await receiving.choices_at_once(sim)


@simulation(seeds=10, faults=3, world=with_servers)
async def test_nothing_that_was_taken_is_lost_when_the_server_dies(sim: Simulation) -> None:
    await receiving.activities_amid_crashes(sim)


@simulation(seeds=16, faults=2, world=with_servers)
async def test_replies_find_their_parent_in_every_order(sim: Simulation) -> None:
    ada = await sim.account("ada")
    ada.has_followed(bob := Foreigner(sim, "bob", "b.example"))
    ada.has_followed(cat := Foreigner(sim, "cat", "c.example"))
    first = note(bob, 1)
    middle = note(cat, 2, inReplyTo=first["id"])
    last = note(bob, 3, inReplyTo=middle["id"])
    activities = [create(bob, first), create(cat, middle), create(bob, last)]
    await receive_at_once(sim, in_some_order(sim, activities))
    await all_applied(sim)
    rows = {row["uri"]: row for row in sim.database.rows("SELECT * FROM statuses")}
    assert rows[middle["id"]]["in_reply_to_id"] == rows[first["id"]]["id"]
    assert rows[last["id"]]["in_reply_to_id"] == rows[middle["id"]]["id"]
    assert {row["conversation_id"] for row in rows.values()} == {rows[first["id"]]["id"]}
    counts = sim.database.rows("SELECT replies FROM status_counts ORDER BY replies")
    assert [row["replies"] for row in counts] == [0, 1, 1]


@simulation(seeds=10, faults=2, world=with_servers)
async def test_a_block_that_races_with_deliveries_leaves_no_follow(sim: Simulation) -> None:
    await receiving.block_meets_a_follow(sim)


@simulation(seeds=10, faults=2, world=with_servers)
async def test_posts_from_before_a_follow_are_in_their_place_and_no_news(sim: Simulation) -> None:
    """They are fetched when the follow is accepted, while new ones come."""
    ada = await sim.account("ada")
    ada.has_followed(bob := Foreigner(sim, "bob", "b.example"))
    home = await ada.stream()
    before = [(sim.run.clock.now() - timedelta(minutes=minutes)).isoformat() for minutes in (9, 300, 600)]

    async def fetch() -> None:
        for number, published in enumerate(before, 1):
            document = note(bob, number, published=published, cc=[f"{HERE}/ada"])
            fetched = read_note(normalize(document), None, sim.run.clock.now())
            assert fetched is not None
            await bob.attempt(ReceiveStatus(fetched, wanted=True, news=False))

    async with sim.together() as go:
        go(fetch, name="what was there before")
        go(sim.receive, create(bob, note(bob, 9, cc=[])), name="what is new")
    await all_applied(sim)
    rows = sim.database.rows("SELECT id, created_at FROM statuses ORDER BY id DESC")
    assert [row["created_at"] for row in rows] == sorted((row["created_at"] for row in rows), reverse=True)
    assert list(await ada.home()) == [row["id"] for row in rows]
    assert set(home.pushed) <= {rows[0]["id"]}, "only the new one is shown by streams"
    assert not sim.database.rows("SELECT FROM notifications")


# In the pinned run the stream is cut, and its client reads a page, which has the old post too.
@simulation(seeds=10, pinned=[(1300028, "pct")], faults=1, world=with_servers)
async def test_an_old_post_is_no_news(sim: Simulation) -> None:
    ada = await sim.account("ada")
    ada.has_followed(bob := Foreigner(sim, "bob", "b.example"))
    home = await ada.stream()
    old = (sim.run.clock.now() - timedelta(days=2)).isoformat()
    await sim.receive(create(bob, note(bob, 1, published=old, cc=[])))
    await sim.receive(create(bob, note(bob, 2, cc=[])))
    await all_applied(sim)
    first, second = sim.database.rows("SELECT id FROM statuses ORDER BY uri")
    assert first["id"] < second["id"]
    assert first["id"] not in home.pushed
    assert home.seen == [second["id"]] or home.cuts
    assert second["id"] in home.seen
