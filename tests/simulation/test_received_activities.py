"""What other servers tell takes effect once and ends the same in every order, also when the server dies in between."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from itertools import permutations
from typing import Any

from troupe.actors.commands.polls import Vote
from troupe.actors.commands.statuses import PublishStatus
from troupe.actors.rules.polls import PollTerms
from troupe.storage.statuses import Status
from troupe.supervision.testing import simulation
from troupe.supervision.testing.checks import Eventually
from troupe.supervision.testing.stage import Person, Simulation, stage

from .foreign import Foreigner

with_servers = partial(stage, deliveries=True)

HERE = "https://troupe.test/users"
PUBLIC = "https://www.w3.org/ns/activitystreams#Public"
HOURS = 6 * 3600  # virtual seconds in which everything was tried again that failed


def act(bob: Foreigner, type: str, named: object, number: int = 1, **more: Any) -> dict[str, Any]:
    return {"id": f"{bob.uri}#{type}/{number}", "type": type, "actor": bob.uri, "object": named, **more}


def note(bob: Foreigner, number: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"{bob.uri}/statuses/{number}", "type": "Note", "attributedTo": bob.uri, "to": [PUBLIC],
        "cc": [f"{HERE}/ada"], "content": f"<p>{number}</p>",
    } | changes  # fmt: skip


def create(bob: Foreigner, document: dict[str, Any]) -> dict[str, Any]:
    return {"id": f"{document['id']}/activity", "type": "Create", "actor": bob.uri, "object": document}


async def all_applied(sim: Simulation) -> None:
    """Wait until every received activity was applied or given up."""

    def nothing_waits() -> bool:
        return not sim.run.database.rows("SELECT FROM outbox WHERE queue IN ('inbox', 'deliveries')")

    await Eventually(nothing_waits, "every activity is applied", within=HOURS).come_true()
    await sim.calm()


async def die(sim: Simulation) -> None:
    await sim.kill()
    await sim.start()


async def receive_at_once(sim: Simulation, activities: list[dict[str, Any]]) -> None:
    """Receive activities by connections of their own, in an order that the run chooses."""
    async with sim.together() as go:
        for number, activity in enumerate(activities):
            go(sim.receive, activity, name=f"{activity['type']} {number}")


def in_some_order(sim: Simulation, activities: list[dict[str, Any]]) -> list[dict[str, Any]]:
    orders = list(permutations(activities))
    return list(orders[sim.run.seed % len(orders)])


async def receive_in_turn(sim: Simulation, activities: list[dict[str, Any]], *, wait: bool) -> None:
    for activity in activities:
        await sim.receive(activity)
        if wait:
            await all_applied(sim)


@simulation(seeds=30, faults=2, world=with_servers)
async def test_a_follow_that_is_undone_ends_in_no_follow_in_every_order(sim: Simulation) -> None:
    await sim.account("ada")
    bob = Foreigner(sim, "bob", "b.example")
    follow = act(bob, "Follow", f"{HERE}/ada")
    again = act(bob, "Follow", f"{HERE}/ada", 2)
    await receive_in_turn(sim, in_some_order(sim, [follow, act(bob, "Undo", follow)]), wait=sim.run.seed % 3 == 0)
    await all_applied(sim)
    assert not sim.run.database.rows("SELECT FROM follows")
    await sim.receive(again)
    await all_applied(sim)
    assert [row["uri"] for row in sim.run.database.rows("SELECT uri FROM follows")] == [again["id"]]


@simulation(seeds=30, faults=2, world=with_servers)
async def test_answers_to_a_request_open_a_follow_at_most_once(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob, mallory = Foreigner(sim, "bob", "b.example"), Foreigner(sim, "mallory", "m.example")
    asked = {"type": "Follow", "actor": f"{HERE}/ada", "object": bob.uri}
    await receive_at_once(sim, [act(mallory, "Accept", asked), act(bob, "Accept", asked, 1)])
    await all_applied(sim)
    assert not sim.run.database.rows("SELECT FROM follows"), "nobody has asked"
    await ada.follow(bob)
    await receive_at_once(sim, [act(mallory, "Accept", asked, 2), act(bob, "Accept", asked, 2)])
    await all_applied(sim)
    rows = sim.run.database.rows("SELECT account_id, target_account_id FROM follows")
    assert [tuple(row.values()) for row in rows] == [(ada.id, bob.id)]
    await sim.receive(act(bob, "Reject", asked, 3))
    await all_applied(sim)
    assert not sim.run.database.rows("SELECT FROM follows UNION ALL SELECT FROM follow_requests")


@simulation(seeds=40, faults=2, world=with_servers)
async def test_a_deleted_post_is_gone_in_every_order(sim: Simulation) -> None:
    await sim.account("ada")
    bob = Foreigner(sim, "bob", "b.example")
    first = note(bob, 1, published="2026-01-01T00:00:00Z")
    edited = first | {"content": "<p>better</p>", "updated": "2026-01-01T00:00:01Z"}
    activities = [create(bob, first), act(bob, "Update", edited), act(bob, "Delete", first["id"])]
    await receive_in_turn(sim, in_some_order(sim, activities), wait=sim.run.seed % 2 == 0)
    await all_applied(sim)
    assert not sim.run.database.rows("SELECT FROM statuses WHERE deleted_at IS NULL")
    assert not sim.run.database.rows("SELECT FROM notifications")


@simulation(seeds=40, faults=2, world=with_servers)
async def test_the_last_edit_stays_in_every_order(sim: Simulation) -> None:
    ada = await sim.account("ada")
    ada.has_followed(bob := Foreigner(sim, "bob", "b.example"))
    home = await ada.stream()
    now = sim.run.clock.now()
    first = note(bob, 1, published=(now - timedelta(minutes=9)).isoformat())
    edits: list[dict[str, Any]] = []
    for number in (1, 2):
        updated = (now - timedelta(minutes=9 - number)).isoformat()
        document = first | {"content": f"<p>edit {number}</p>", "updated": updated}
        edits.append(act(bob, "Update", document, number))
    await receive_in_turn(sim, in_some_order(sim, [create(bob, first), *edits]), wait=sim.run.seed % 2 == 0)
    await all_applied(sim)
    (row,) = sim.run.database.rows("SELECT id, content FROM statuses")
    assert row["content"] == "<p>edit 2</p>"
    assert home.seen == [row["id"]]


@simulation(seeds=40, faults=2, world=with_servers)
async def test_two_choices_at_once_are_both_counted_and_the_voter_once(sim: Simulation) -> None:
    ada, eve = await sim.people("ada", "eve")
    bob = Foreigner(sim, "bob", "b.example")
    poll = PollTerms(("tea", "coffee", "milk"), seconds=600, multiple=True)
    status = await ada.insist(PublishStatus("which?", poll=poll, idempotency_key="poll"))
    assert isinstance(status, Status)
    assert status.poll_id is not None
    question = Vote(status.id, status.poll_id, (0,))
    uri = f"{HERE}/ada/statuses/{status.id}"

    def vote(option: str, number: int) -> dict[str, Any]:
        document = {
            "id": f"{bob.uri}#votes/{number}", "type": "Note", "attributedTo": bob.uri, "name": option,
            "to": [f"{HERE}/ada"], "inReplyTo": uri,
        }  # fmt: skip
        return create(bob, document)

    async with sim.together() as go:
        for number, option in enumerate(("tea", "coffee", "tea")):
            go(sim.receive, vote(option, number), name=option)
        go(eve.attempt, question, name="eve")
    await all_applied(sim)
    counts = {row["title"]: row["votes"] for row in sim.run.database.rows("SELECT title, votes FROM poll_options")}
    (voters,) = sim.run.database.rows("SELECT voters_count FROM polls")
    stored = sim.run.database.rows("SELECT account_id, position FROM poll_votes")
    of_bob = {row["position"] for row in stored if row["account_id"] == bob.id}
    assert of_bob == {0, 1}
    assert sum(counts.values()) == len(stored)
    assert voters["voters_count"] == len({row["account_id"] for row in stored})


@simulation(seeds=30, faults=3, world=with_servers)
async def test_nothing_that_was_taken_is_lost_when_the_server_dies(sim: Simulation) -> None:
    ada = await sim.account("ada")
    ada.has_followed(bob := Foreigner(sim, "bob", "b.example"))
    await sim.receive(create(bob, note(bob, 1)))
    async with sim.together() as go:
        go(sim.receive, create(bob, note(bob, 2, inReplyTo=f"{bob.uri}/statuses/1")), name="the second")
        go(sim.receive, create(bob, note(bob, 1)), name="the first again")
        go(die, sim, name="the operator")
    await all_applied(sim)
    rows = sim.run.database.rows("SELECT uri FROM statuses ORDER BY uri")
    assert [row["uri"] for row in rows] == [f"{bob.uri}/statuses/1", f"{bob.uri}/statuses/2"]
    assert len(sim.run.database.rows("SELECT FROM notifications")) == 0


@simulation(seeds=30, faults=2, world=with_servers)
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
    rows = {row["uri"]: row for row in sim.run.database.rows("SELECT * FROM statuses")}
    assert rows[middle["id"]]["in_reply_to_id"] == rows[first["id"]]["id"]
    assert rows[last["id"]]["in_reply_to_id"] == rows[middle["id"]]["id"]
    assert {row["conversation_id"] for row in rows.values()} == {rows[first["id"]]["id"]}
    counts = sim.run.database.rows("SELECT replies FROM status_counts ORDER BY replies")
    assert [row["replies"] for row in counts] == [0, 1, 1]


async def block(person: Person, other: Foreigner) -> None:
    await person.block(other)


@simulation(seeds=30, faults=2, world=with_servers)
async def test_a_block_that_races_with_deliveries_leaves_no_follow(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob = Foreigner(sim, "bob", "b.example")
    async with sim.together() as go:
        go(sim.receive, act(bob, "Follow", f"{HERE}/ada"), name="the follow")
        go(block, ada, bob, name="the block")
    await all_applied(sim)
    assert not sim.run.database.rows("SELECT FROM follows UNION ALL SELECT FROM follow_requests")


@simulation(seeds=10, faults=1, world=with_servers)
async def test_an_old_post_is_no_news(sim: Simulation) -> None:
    ada = await sim.account("ada")
    ada.has_followed(bob := Foreigner(sim, "bob", "b.example"))
    home = await ada.stream()
    old = (sim.run.clock.now() - timedelta(days=2)).isoformat()
    await sim.receive(create(bob, note(bob, 1, published=old, cc=[])))
    await sim.receive(create(bob, note(bob, 2, cc=[])))
    await all_applied(sim)
    first, second = sim.run.database.rows("SELECT id FROM statuses ORDER BY uri")
    assert first["id"] < second["id"]
    assert home.seen == [second["id"]]
