"""Commands of clients of any node: they run once, at the owner, and what is answered is in the rows."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial
from typing import TypeVar

from troupe.actors.broadcast.broadcast import list_address
from troupe.actors.commands.edits import EditStatus
from troupe.actors.commands.favourites import Favourite
from troupe.actors.commands.follows import Follow
from troupe.actors.commands.lists import ON_IT_ALREADY, AddToList, ChangeList, CreateList
from troupe.actors.commands.reblogs import Reblog
from troupe.actors.commands.statuses import PublishStatus
from troupe.actors.kernel import NotAnswered, Refused
from troupe.storage.engine.database import Connection, StorageError
from troupe.storage.engine.shards import shard_of
from troupe.storage.statuses import Status
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Person
from troupe.supervision.testing.stage.cluster import SimulatedCluster, cluster

T = TypeVar("T")

TEXTS = "SELECT s.id, s.text FROM statuses s WHERE s.account_id = $1 AND s.deleted_at IS NULL ORDER BY s.id"
WRONG_COUNTS = """
    SELECT s.id FROM statuses s JOIN status_counts c ON c.status_id = s.id
    WHERE c.favourites <> (SELECT count(*) FROM favourites f WHERE f.status_id = s.id)
    OR c.reblogs <> (SELECT count(*) FROM statuses b WHERE b.reblog_of_id = s.id AND b.deleted_at IS NULL)
    OR c.replies <> (SELECT count(*) FROM statuses r WHERE r.in_reply_to_id = s.id AND r.deleted_at IS NULL)
"""
FAVOURITES = "SELECT count(*) AS number FROM favourites WHERE account_id = $1 AND status_id = $2"
BOOSTS = "SELECT id FROM statuses WHERE account_id = $1 AND reblog_of_id = $2 AND deleted_at IS NULL"
FOLLOWS = "SELECT target_account_id AS id FROM follows WHERE account_id = $1"
LISTS = "SELECT id, title FROM lists WHERE account_id = $1"
MEMBERS = "SELECT account_id FROM list_accounts WHERE list_id = $1 ORDER BY account_id"

OLDER_THAN_ITS_CAUSE = """
    SELECT s.id FROM statuses s WHERE s.id <= greatest(s.in_reply_to_id, s.reblog_of_id)
    UNION ALL SELECT n.id FROM notifications n WHERE n.id <= n.status_id
"""
RECORD_EPOCHS = (
    "CREATE TABLE entered (number bigserial, shard smallint, epoch bigint)",
    "ALTER FUNCTION enter_shard RENAME TO enter_shard_of_the_product",
    """
    CREATE FUNCTION enter_shard(entered_shard smallint, owned bigint) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO entered (shard, epoch) VALUES (entered_shard, owned);
        RETURN enter_shard_of_the_product(entered_shard, owned);
    END
    $$
    """,
)


class Outcomes:
    """What an app knows of the commands that it has sent once each, by a name of the command."""

    def __init__(self) -> None:
        self.answered: dict[str, object] = {}
        self.refused: set[str] = set()
        self.unknown: set[str] = set()

    async def note(self, name: str, asking: Awaitable[T]) -> None:
        try:
            self.answered[name] = await asking
        except Refused:
            self.refused.add(name)
        except (NotAnswered, StorageError):
            self.unknown.add(name)


@simulation(seeds=2, at_most=30, faults=4, world=partial(cluster, nodes=3))
async def test_a_command_that_is_sent_once_is_executed_at_most_once(sim: SimulatedCluster) -> None:
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    await cyd.block(bob)
    outcomes = {person.id: Outcomes() for person in (ada, bob, cyd)}

    async def use(person: Person) -> None:
        """Use an app that asks for nothing twice."""
        of = outcomes[person.id]
        for number in range(6):
            await of.note(f"{person.name} {number}", person.ask(PublishStatus(f"{person.name} {number}")))
        await of.note("follow", person.ask(Follow(cyd.id if person is bob else bob.id)))

    async with sim.run.together() as go:
        go(use, ada)
        go(use, bob)
        go(sim.storm)
    await sim.calm()

    for person in (ada, bob):
        of = outcomes[person.id]
        rows = sim.database.rows(TEXTS, person.id)
        stored = [row["text"] for row in rows]
        assert len(stored) == len(set(stored)), "a command was executed twice"
        for name, answer in of.answered.items():
            if isinstance(answer, Status):
                assert (answer.id, name) in {(row["id"], row["text"]) for row in rows}, "an answered post is lost"
        assert set(stored) <= {*of.answered, *of.unknown}, "a post that was refused is there"
    assert "follow" not in outcomes[bob.id].answered, "a blocked account may not follow"
    assert not sim.database.rows(FOLLOWS, bob.id)
    followed = [row["id"] for row in sim.database.rows(FOLLOWS, ada.id)]
    assert "follow" not in outcomes[ada.id].answered or followed == [bob.id]
    sim.run.sometimes(bool(outcomes[ada.id].unknown), "an outcome was not known")
    sim.run.sometimes("follow" in outcomes[bob.id].refused, "another node refused a command")


@simulation(seeds=2, faults=4, world=partial(cluster, nodes=3))
async def test_everything_that_is_answered_is_in_the_rows(sim: SimulatedCluster) -> None:
    await change_everything(sim)


@simulation(seeds=1, faults=6, world=partial(cluster, nodes=5))
async def test_everything_that_is_answered_by_five_nodes_is_in_the_rows(sim: SimulatedCluster) -> None:
    await change_everything(sim, blows=6)


async def change_everything(sim: SimulatedCluster, blows: int = 4) -> None:
    """Three persons do everything with apps that ask until they have an answer."""
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    first = await ada.publish("first")
    edited = await ada.publish("edited")
    gone = await bob.publish("gone")
    boosts: dict[int, int] = {}
    lists: dict[int, int] = {}

    async def use(person: Person, others: tuple[Person, Person]) -> None:
        await person.follow(others[0])
        for number in range(2):
            await person.publish(f"{person.name} {number}")
        await person.insist(Favourite(first))
        await person.follow(others[1])
        boosts[person.id] = await person.insist(Reblog(first))
        made = await person.insist(CreateList("mine", "list", exclusive=False))
        lists[person.id] = made.id
        await person.insist(ChangeList(person.id, title="renamed"), list_address(made.id))
        try:
            await person.insist(AddToList(person.id, (others[0].id,)), list_address(made.id))
        except Refused as refusal:
            if refusal != ON_IT_ALREADY:  # the first try was committed, and its answer was lost
                raise
        await person.delete(await person.publish("regretted"))

    async def edit() -> None:
        for number in range(3):
            await ada.insist(EditStatus(edited, f"edited {number}"))
        await bob.delete(gone)

    everybody = (ada, bob, cyd)
    async with sim.run.together() as go:
        for place, person in enumerate(everybody):
            go(use, person, (everybody[place - 1], everybody[place - 2]), name=person.name)
        go(edit)
        go(partial(sim.storm, blows=blows))
    await sim.calm()

    for person in everybody:
        others = {other.id for other in everybody if other is not person}
        assert {row["id"] for row in sim.database.rows(FOLLOWS, person.id)} == others
        assert sim.database.rows(FAVOURITES, person.id, first)[0]["number"] == 1
        assert [row["id"] for row in sim.database.rows(BOOSTS, person.id, first)] == [boosts[person.id]]
        assert (lists[person.id], "renamed") in {
            (row["id"], row["title"]) for row in sim.database.rows(LISTS, person.id)
        }
        assert len(sim.database.rows(MEMBERS, lists[person.id])) == 1
        kept = set(person.published) - set(person.deleted)
        stored = {row["id"] for row in sim.database.rows(TEXTS, person.id)} - {boosts[person.id]}
        assert stored == kept, "a status is there once if its app has its id, and did not delete it"
    assert {row["text"] for row in sim.database.rows(TEXTS, ada.id) if row["id"] == edited} == {"edited 2"}
    assert not sim.database.rows(WRONG_COUNTS)


@simulation(seeds=2, faults=4, world=partial(cluster, nodes=3))
async def test_a_key_makes_one_status_on_all_nodes(sim: SimulatedCluster) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    answers: list[int] = []

    async def send(key: str) -> None:
        answers.append(await ada.publish("hello", key=key))

    async with sim.run.together() as go:
        for device in ("phone", "laptop", "watch"):
            go(send, "the key", name=device)
        go(sim.storm)
    assert len(set(answers)) == 1
    assert answers[0] in await bob.home()
    await sim.calm()
    await send("the key")
    assert len(set(answers)) == 1
    assert len(sim.database.rows("SELECT FROM statuses")) == 1


@simulation(seeds=2, faults=4, world=partial(cluster, nodes=3))
async def test_the_last_command_that_is_answered_is_the_last_that_is_executed(sim: SimulatedCluster) -> None:
    """An earlier try of a command that a client has repeated is not executed later."""
    ada, bob = await sim.people("ada", "bob")

    async def waver() -> None:
        for _ in range(4):
            await bob.follow(ada)
            assert sim.database.rows(FOLLOWS, bob.id)
            await bob.unfollow(ada)
            assert not sim.database.rows(FOLLOWS, bob.id)

    async with sim.run.together() as go:
        go(waver)
        go(sim.storm)
    await sim.calm()
    assert not sim.database.rows(FOLLOWS, bob.id)
    assert not (await bob.relation(ada)).following


# Ids of nodes whose clocks differ by a minute, and epochs


@simulation(seeds=2, faults=4, world=partial(cluster, nodes=3))
async def test_ids_sort_in_the_order_of_cause_and_effect(sim: SimulatedCluster) -> None:
    ada, bob = await sim.people("ada", "bob")
    chain: list[int] = []  # the ids of the rows of commands, each of which was sent after the answer to the one before

    async def publish(person: Person, command: PublishStatus) -> int:
        status = await person.insist(command)
        assert isinstance(status, Status)
        return status.id

    async def talk() -> None:
        for turn in range(4):
            await bob.follow(ada)
            chain.append(sim.database.rows("SELECT id FROM follows")[0]["id"])
            chain.append(await publish(ada, PublishStatus(f"@bob {turn}", idempotency_key=f"ada {turn}")))
            reply = PublishStatus("yes", in_reply_to_id=chain[-1], idempotency_key=f"bob {turn}")
            chain.append(await publish(bob, reply))
            chain.append(await ada.insist(Reblog(chain[-1])))
            await bob.unfollow(ada)

    async with sim.run.together() as go:
        go(talk)
        go(sim.storm)
    await sim.calm()
    assert chain == sorted(chain)
    assert not sim.database.rows(OLDER_THAN_ITS_CAUSE)


@simulation(seeds=2, at_most=30, faults=4, world=partial(cluster, nodes=3))
async def test_no_commit_of_an_older_epoch_follows_one_of_a_newer_epoch(sim: SimulatedCluster) -> None:
    sim.database.arrange(record_epochs)
    people = await sim.people("ada", "bob", "cyd", "dan")

    async def post(person: Person) -> None:
        for _ in range(4):
            await person.publish()

    async with sim.run.together() as go:
        for person in people:
            go(post, person)
        go(partial(sim.storm, blows=6))
    await sim.calm()
    epochs: dict[int, int] = {}
    for row in sim.database.rows("SELECT shard, epoch FROM entered ORDER BY number"):
        assert row["epoch"] >= epochs.get(row["shard"], 0)
        epochs[row["shard"]] = row["epoch"]
    assert epochs.keys() >= {shard_of(person.id) for person in people}
    sim.run.sometimes(len({*epochs.values()}) > 1, "a shard had another owner")


async def record_epochs(db: Connection) -> None:
    """Note the epoch in which each transaction enters a shard. The notes of a transaction are rolled back with it."""
    for statement in RECORD_EPOCHS:
        await db.execute(statement)
