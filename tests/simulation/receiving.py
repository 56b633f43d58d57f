"""Scenarios about what other servers tell. They are played with the product's rules, and with broken ones."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from itertools import permutations
from typing import Any

from troupe.actors.commands.polls import Vote
from troupe.actors.commands.statuses import PublishStatus
from troupe.actors.rules.polls import PollTerms
from troupe.storage.statuses import Status
from troupe.supervision.testing import Budget, Fault
from troupe.supervision.testing.run import Eventually
from troupe.supervision.testing.stage import Person, Simulation, stage

from .foreign import Foreigner

with_servers = partial(stage, deliveries=True)

HERE = "https://troupe.test/users"
PUBLIC = "https://www.w3.org/ns/activitystreams#Public"
CRASHES = Budget(3, frozenset({Fault.CRASH_BEFORE, Fault.CRASH_AFTER}))
DONE = {
    "Follow": "SELECT uri FROM follows",
    "Like": "SELECT uri FROM favourites",
    "Announce": "SELECT uri FROM statuses WHERE reblog_of_id IS NOT NULL AND deleted_at IS NULL",
    "Block": "SELECT uri FROM blocks",
}
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
        return not sim.database.rows("SELECT FROM outbox WHERE queue IN ('inbox', 'deliveries')")

    await Eventually(nothing_waits, "every activity is applied", within=HOURS).wait_until_true()
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
    return list(sim.run.random.choice(list(permutations(activities))))


async def receive_in_turn(sim: Simulation, activities: list[dict[str, Any]], *, wait: bool = False) -> None:
    for activity in activities:
        await sim.receive(activity)
        if wait:
            await all_applied(sim)


async def receive_in_two_inboxes(sim: Simulation, activities: list[dict[str, Any]]) -> None:
    """Receive each activity in the shared inbox and in ada's, where it is written in another way, in any order."""
    requests = [(one, None) for one in activities] + [(one | {"cc": None}, "ada") for one in activities]
    sim.run.random.shuffle(requests)
    wait = sim.run.random.random() < 0.5
    for activity, recipient in requests:
        await sim.receive(activity, recipient)
        if wait:
            await all_applied(sim)


async def block(person: Person, other: Foreigner) -> None:
    await person.block(other)


async def follow_and_undo_in_every_order(sim: Simulation) -> None:
    """Bob's Follow and its Undo come in any order. Then bob follows again."""
    await sim.account("ada")
    bob = Foreigner(sim, "bob", "b.example")
    follow = act(bob, "Follow", f"{HERE}/ada")
    again = act(bob, "Follow", f"{HERE}/ada", 2)
    await receive_in_turn(sim, in_some_order(sim, [follow, act(bob, "Undo", follow)]), wait=sim.run.seed % 3 == 0)
    await all_applied(sim)
    assert not sim.database.rows("SELECT FROM follows"), "an Undo ends its Follow, also if it comes before it"
    await sim.receive(again)
    await all_applied(sim)
    assert [row["uri"] for row in sim.database.rows("SELECT uri FROM follows")] == [again["id"]]


async def accept_and_undo_in_every_order(sim: Simulation) -> None:
    """Ada asks to follow bob, whose Accept and its Undo come in any order."""
    ada = await sim.account("ada")
    bob = Foreigner(sim, "bob", "b.example")
    await ada.follow(bob)
    accept = act(bob, "Accept", {"type": "Follow", "actor": f"{HERE}/ada", "object": bob.uri})
    activities = in_some_order(sim, [accept, act(bob, "Undo", accept)])
    await receive_in_turn(sim, activities, wait=sim.run.random.random() < 0.5)
    await all_applied(sim)
    assert not sim.database.rows("SELECT FROM follows"), "an Undo ends its Accept, also if it comes before it"


async def create_edit_and_delete_in_every_order(sim: Simulation) -> None:
    """The Create of a post, an edit and its Delete come in any order, each in two inboxes."""
    ada = await sim.account("ada")
    bob = Foreigner(sim, "bob", "b.example")
    now = sim.run.clock.now()
    first = note(bob, 1, published=(now - timedelta(minutes=9)).isoformat())
    edited = first | {"content": "<p>better</p>", "updated": (now - timedelta(minutes=8)).isoformat()}
    await receive_in_two_inboxes(sim, [create(bob, first), act(bob, "Update", edited), act(bob, "Delete", first["id"])])
    await all_applied(sim)
    assert not sim.database.rows("SELECT FROM statuses WHERE deleted_at IS NULL"), "a deleted post stays deleted"
    assert not sim.database.rows("SELECT FROM notifications WHERE account_id = $1", ada.id)


async def edits_in_every_order(sim: Simulation) -> None:
    """The Create of a post and two edits come in any order, each in two inboxes."""
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
    await receive_in_two_inboxes(sim, [create(bob, first), *edits])
    await all_applied(sim)
    (row,) = sim.database.rows("SELECT id, content FROM statuses")
    assert row["content"] == "<p>edit 2</p>", "the later edit stays"
    assert home.seen == [row["id"]]


async def edits_of_one_second(sim: Simulation) -> None:
    """Three edits have one time, and come in their order. One of them may have to be tried again."""
    ada = await sim.account("ada")
    ada.has_followed(bob := Foreigner(sim, "bob", "b.example"))
    at = sim.run.clock.now().replace(microsecond=0).isoformat()
    first = note(bob, 1, published=at)
    texts = ["<p>one</p>", "<p>two</p>", "<p>three</p>"]
    edits = [act(bob, "Update", first | {"content": text, "updated": at}, number) for number, text in enumerate(texts)]
    await receive_in_turn(sim, [create(bob, first), *edits], wait=sim.run.random.random() < 0.3)
    await all_applied(sim)
    (row,) = sim.database.rows("SELECT content, edited_at FROM statuses")
    assert row["content"] == texts[-1], "the edit that was sent last stays"
    states = sim.database.rows("SELECT content, created_at FROM status_edits ORDER BY id")
    shown = [state["content"] for state in states]
    assert shown in ([first["content"], *texts], texts), "each has its state, but the first may come after an edit"
    assert [state["created_at"] for state in states] == sorted({state["created_at"] for state in states})


async def choices_at_once(sim: Simulation) -> None:
    """Bob's two choices come at once, one of them twice, while eve votes here."""
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
    counts = {row["title"]: row["votes"] for row in sim.database.rows("SELECT title, votes FROM poll_options")}
    (voters,) = sim.database.rows("SELECT voters_count FROM polls")
    stored = sim.database.rows("SELECT account_id, position FROM poll_votes")
    of_bob = {row["position"] for row in stored if row["account_id"] == bob.id}
    assert of_bob == {0, 1}, "both choices count"
    assert sum(counts.values()) == len(stored), "each once"
    assert voters["voters_count"] == len({row["account_id"] for row in stored}), "and the voter once"


async def activities_amid_crashes(sim: Simulation) -> None:
    """The server is killed after it has answered, and before everything is applied."""
    ada = await sim.account("ada")
    ada.has_followed(bob := Foreigner(sim, "bob", "b.example"))
    await sim.receive(create(bob, note(bob, 1)))
    async with sim.together() as go:
        go(sim.receive, create(bob, note(bob, 2, inReplyTo=f"{bob.uri}/statuses/1")), name="the second")
        go(sim.receive, create(bob, note(bob, 1)), name="the first again")
        go(die, sim, name="the operator")
    await all_applied(sim)
    rows = sim.database.rows("SELECT uri FROM statuses ORDER BY uri")
    expected = [f"{bob.uri}/statuses/1", f"{bob.uri}/statuses/2"]
    assert [row["uri"] for row in rows] == expected, "what was taken is here, once"
    assert len(sim.database.rows("SELECT FROM notifications")) == 0


async def block_meets_a_follow(sim: Simulation) -> None:
    """Ada blocks bob while his Follow comes."""
    ada = await sim.account("ada")
    bob = Foreigner(sim, "bob", "b.example")
    async with sim.together() as go:
        go(sim.receive, act(bob, "Follow", f"{HERE}/ada"), name="the follow")
        go(block, ada, bob, name="the block")
    await all_applied(sim)
    left = sim.database.rows("SELECT FROM follows UNION ALL SELECT FROM follow_requests")
    assert not left, "nobody follows whom they are blocked by"


async def undo_amid_crashes(sim: Simulation) -> None:
    """Others do something, undo it, and some do it again, while the actors of their accounts here crash."""
    ada = await sim.account("ada")
    status = await ada.insist(PublishStatus("hello", idempotency_key="hello"))
    assert isinstance(status, Status)
    chance, uri = sim.run.random, f"{HERE}/ada/statuses/{status.id}"
    left: dict[str, list[str]] = {}
    async with sim.together() as go:
        for name, type, named in (
            ("bob", "Follow", f"{HERE}/ada"), ("cat", "Like", uri), ("dan", "Announce", uri),
            ("eve", "Block", f"{HERE}/ada"),
        ):  # fmt: skip
            person = Foreigner(sim, name, f"{name}.example")
            embedded, repeated = chance.random() < 0.5, type == "Follow"
            done = act(person, type, named, to=[PUBLIC])
            activities = [done, act(person, "Undo", done if embedded else done["id"])]
            if embedded and chance.random() < 0.5:
                # Takahē repeats the Follow with its old id. For other activities every server has a new one.
                activities.append(done if repeated else act(person, type, named, 2, to=[PUBLIC]))
            left[type] = [one["id"] for one in activities[2:]]
            go(receive_in_turn, sim, activities, name=name)
    await all_applied(sim)
    for type, rows in DONE.items():
        found = [row["uri"] for row in sim.database.rows(rows)]
        assert found == left[type], f"{type} is undone, and done again if it came again"
