"""Relays of the outbox: claims, workers, retries. No queue, group or relay waits for another queue, group or relay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
import trio

from troupe.actors.cluster.others import Alone, Others
from troupe.actors.effects import registry
from troupe.actors.effects.files import files_unused
from troupe.actors.effects.mail import MAIL, mail
from troupe.actors.effects.registry import (
    Attempt,
    EffectQueue,
    Finish,
    GivenUp,
    Later,
    NotTried,
    QueueWithContext,
    executes,
)
from troupe.actors.facts.statuses import PublishedStatus
from troupe.actors.kernel import Ids, Origin
from troupe.actors.mail.templates import APPROVAL, Letter
from troupe.actors.outbox.outbox import new_effect
from troupe.actors.outbox.relay import ALONE, GATHER, LEASE, LONGEST_TRY, Relay, assign_to_workers, in_order
from troupe.actors.promises import Effect, Promise
from troupe.storage import outbox
from troupe.storage.engine.database import Connection
from troupe.storage.outbox import DueEffect
from troupe.supervision.testing import Fault, Run, simulation
from troupe.supervision.testing.run import Eventually
from troupe.supervision.testing.stage import Simulation, stage, with_database
from troupe.supervision.testing.stage.simulation import Simulation as Server

TWO_DAYS = timedelta(days=2)
AT = datetime(2026, 5, 4, tzinfo=UTC)
NEW_TAG = "INSERT INTO tags (id, name, display_name, created_at) VALUES ($1, $2, $2, '2026-05-04')"


@dataclass(frozen=True, slots=True)
class Knock(Effect):
    """One delivery to a door of a house: houses are groups, doors partitions."""

    house: str
    door: int
    number: int


class Visitor:
    """Carries deliveries out as a test says, and sees how they overlap."""

    def __init__(self, ring: Callable[[Knock, Attempt], Awaitable[Finish | None]]) -> None:
        self.ring = ring
        self.under_way: Counter[tuple[str, int]] = Counter()
        self.most: Counter[str] = Counter()  # of each house, at the same time
        self.most_at_a_door = 0  # at the same time; a failed assert in `ring` would be one more retry
        self.done: list[Knock] = []

    async def visit(self, knock: Knock, attempt: Attempt) -> Finish | None:
        door = (knock.house, knock.door)
        self.under_way[door] += 1
        self.most[knock.house] = max(self.most[knock.house], self.at(knock.house))
        self.most_at_a_door = max(self.most_at_a_door, self.under_way[door])
        try:
            finish = await self.ring(knock, attempt)
        finally:
            self.under_way[door] -= 1
        self.done.append(knock)
        return finish

    def at(self, house: str) -> int:
        return sum(count for (other, _), count in self.under_way.items() if other == house)


VISITS: EffectQueue[Visitor] = EffectQueue(
    "visits",
    workers=4,
    workers_per_group=2,
    claimed_at_once=2,
    look_every=2.0,
    retry_after=(1, 5),
    give_up_after=TWO_DAYS,
)


async def note_given_up(db: Connection, knock: Knock, error: Exception) -> None:
    await db.execute(NEW_TAG, knock.number, f"given up: {error}")


@pytest.fixture(autouse=True)
def visits() -> Iterator[None]:
    """A kind of effects that exists in these tests alone."""

    @executes("knock", Knock, VISITS, on_give_up=note_given_up)
    async def knock_at(visitor: Visitor, knock: Knock, attempt: Attempt) -> Finish | None:
        return await visitor.visit(knock, attempt)

    yield
    del registry.KINDS["knock"], registry.NAMES[Knock]


class OtherNodes(Alone):
    """The place of a node of a cluster."""

    is_alone = False


class World:
    """Relays of the queue over one database, as those of two servers would be."""

    def __init__(self, run: Run, nursery: trio.Nursery) -> None:
        self.run = run
        self.ids = Ids(run.clock)
        self.log: list[tuple[str, dict[str, Any]]] = []
        self.relays: list[Relay[Any]] = []
        self._nursery = nursery

    def promise(self, *knocks: Knock) -> None:
        promises = [Promise(one, f"{one.house}/{one.door}", group=one.house) for one in knocks]
        rows = [new_effect(self.ids.next(), promise, Origin("test")) for promise in promises]
        self.run.database.arrange(outbox.insert_many, rows, self.run.clock.now())

    async def start(self, visitor: Visitor, others: Others = ALONE) -> trio.CancelScope:
        """Start a relay; cancel the scope, and it has died."""
        queue, run = QueueWithContext(VISITS, visitor), self.run
        relay = Relay(queue, run.database, run.clock, self.ids, self._record, others=others)
        self.relays.append(relay)
        life = trio.CancelScope()

        async def live(*, task_status: trio.TaskStatus[None]) -> None:
            with life:
                await relay.run(trio.Event(), task_status=task_status)

        await self._nursery.start(live)
        return life

    def looks(self) -> int:
        """How often relays have looked for rows."""
        return sum(1 for point in self.run.faults.passed if (point.fault, point.place) == (Fault.LOST, "due"))

    def left(self) -> int:
        return len(self.run.database.rows("SELECT FROM outbox"))

    def notes(self) -> list[str]:
        return [row["name"] for row in self.run.database.rows("SELECT name FROM tags ORDER BY id")]

    async def empty(self, seconds: float) -> None:
        """Wait until nothing is left."""
        await Eventually(lambda: self.left() == 0, "nothing is left", seconds).wait_until_true()

    def decisions(self, event: str) -> list[object]:
        return [facts["decision"] for word, facts in self.log if word == event]

    def _record(self, event: str, /, **facts: Any) -> None:
        self.log.append((event, facts))


def scenario(**how: Any) -> Callable[[Callable[[World], Awaitable[None]]], Callable[..., None]]:
    """A simulation that ends with its world's relays."""

    def decorate(play: Callable[[World], Awaitable[None]]) -> Callable[..., None]:
        async def played(run: Run) -> None:
            async with trio.open_nursery() as nursery:
                await play(World(run, nursery))
                nursery.cancel_scope.cancel()

        played.__name__, played.__doc__ = play.__name__, play.__doc__
        return simulation(world=with_database, **how)(played)

    return decorate


async def at_once(knock: Knock, attempt: Attempt) -> None:
    await trio.lowlevel.checkpoint()


@scenario(seeds=12, faults=20)
async def test_two_relays_never_carry_out_one_partition_at_the_same_time(world: World) -> None:
    """Also if an effect takes longer than a lease, and if a relay dies: its work is carried on by the other."""
    run, failed = world.run, Counter[int]()

    async def ring(knock: Knock, attempt: Attempt) -> None:
        await trio.sleep(run.random.choice([0.1, 0.1, 3.0, 1.5 * LEASE]))
        if run.random.random() < 0.2 and failed.total() < 5:
            failed[knock.number] += 1
            raise RuntimeError("nobody opens")

    visitor = Visitor(ring)
    knocks = [Knock(house, door, 10 * door + n) for house in ("a", "b") for door in (1, 2) for n in range(3)]
    world.promise(*knocks)
    first = await world.start(visitor)
    await world.start(visitor)
    await trio.sleep(run.random.choice([0.5, 2.0, 20.0]))
    first.cancel()
    await world.empty(600)
    assert set(visitor.done) == set(knocks)
    assert visitor.most_at_a_door == 1
    for house in ("a", "b"):
        for door in (1, 2):
            came = list(dict.fromkeys(one.number for one in visitor.done if (one.house, one.door) == (house, door)))
            assert came == sorted(came), "retries keep the order of a partition"
    run.sometimes(failed.total() > 0, "something was tried again")
    run.sometimes(len(visitor.done) > len(knocks), "something was done twice, after a fault")


@scenario(seeds=3)
async def test_the_claim_of_a_node_of_a_cluster_ends_by_no_clock(world: World) -> None:
    """It is released when the node is removed."""
    rung = trio.Event()

    async def ring(knock: Knock, attempt: Attempt) -> None:
        rung.set()
        await trio.sleep_forever()

    world.promise(Knock("a", 1, 1))
    first = await world.start(Visitor(ring), OtherNodes())
    await rung.wait()
    other = Visitor(at_once)
    await world.start(other, OtherNodes())
    await trio.sleep(10 * LEASE)
    first.cancel()
    await trio.sleep(10 * LEASE)
    assert world.left() == 1
    world.run.database.arrange(outbox.release_of, 0, world.ids.next())
    await world.empty(2 * VISITS.look_every)
    assert other.done == [Knock("a", 1, 1)]


@scenario(seeds=3)
async def test_a_try_that_does_not_end_is_ended_and_retried(world: World) -> None:
    tried: list[float] = []

    async def ring(knock: Knock, attempt: Attempt) -> None:
        tried.append(trio.current_time())
        if attempt.number == 1:
            await trio.sleep_forever()

    world.promise(Knock("a", 1, 1))
    await world.start(Visitor(ring))
    await world.empty(LONGEST_TRY + 10)
    first, second = tried
    assert LONGEST_TRY <= second - first < LONGEST_TRY + 10
    assert [facts["error"] for _, facts in world.log] == ["TimeoutError: not done after 3600 s"]


@scenario(seeds=1)
async def test_a_relay_claims_by_the_number_that_its_node_has_now(world: World) -> None:
    """A node that joins again has another one, by which its claims are released."""

    async def ring(knock: Knock, attempt: Attempt) -> None:
        await trio.sleep_forever()

    await world.start(Visitor(ring), OtherNodes())
    for number in (0, 5):
        world.ids.use(number)
        world.promise(Knock("a", number, number))
        world.relays[0].wake()
        await trio.sleep(1)
    claims = world.run.database.rows("SELECT claimed_by >> 10 & 63 AS number FROM outbox ORDER BY id")
    assert [claim["number"] for claim in claims] == [0, 5]


def test_what_follows_an_effect_that_was_not_claimed_waits_with_it() -> None:
    """Another relay has claimed the first one between the look and the claim."""
    first, second, other = (DueEffect(n, "knock", key, {}, None, (), 0, AT, "a") for n, key in enumerate("aab"))
    assert in_order([first, second, other], {second.id, other.id}) == [other]


@scenario(seeds=1)
async def test_one_look_finds_the_rows_of_many_commits(world: World) -> None:
    """Each commit wakes the relay. Without commits it looks now and then."""
    await world.start(Visitor(at_once))
    for _ in range(100):
        world.relays[0].wake()
        await trio.sleep(0.01)
    assert world.looks() <= 2 + 1 / GATHER  # the first one, that after the first commit, and one in each pause
    await trio.sleep(GATHER)
    before = world.looks()
    await trio.sleep(10 * VISITS.look_every)
    assert world.looks() - before == 10


@scenario(seeds=3)
async def test_a_busy_door_has_no_pause_between_full_workers(world: World) -> None:
    visitor = Visitor(at_once)
    world.promise(*(Knock("a", 1, n) for n in range(40)))
    await world.start(visitor)
    world.relays[0].wake()
    await world.empty(GATHER)
    assert [one.number for one in visitor.done] == list(range(40))
    assert world.looks() <= 40 / VISITS.claimed_at_once + 2


@scenario(seeds=5)
async def test_the_rows_of_a_relay_that_died_are_free_when_its_lease_ends(world: World) -> None:
    async def hang(knock: Knock, attempt: Attempt) -> None:
        await trio.sleep_forever()

    world.promise(Knock("a", 1, 1), Knock("a", 1, 2))
    dying = await world.start(Visitor(hang))
    await trio.sleep(2)
    dying.cancel()
    heir = Visitor(at_once)
    await world.start(heir)
    await trio.sleep(LEASE - 4)
    assert heir.done == []
    await world.empty(10)
    assert [one.number for one in heir.done] == [1, 2]


@scenario(seeds=5)
async def test_what_takes_longer_than_a_lease_is_carried_out_once(world: World) -> None:
    rung: list[int] = []

    async def ring(knock: Knock, attempt: Attempt) -> None:
        rung.append(knock.number)
        await trio.sleep(3 * LEASE)

    visitor = Visitor(ring)
    world.promise(Knock("a", 1, 1), Knock("a", 1, 2))
    for _ in range(2):
        await world.start(visitor)
    await world.empty(10 * LEASE)
    assert rung == [1, 2]


@scenario(seeds=5)
async def test_a_slow_house_takes_its_share_of_the_workers_and_no_more(world: World) -> None:
    async def ring(knock: Knock, attempt: Attempt) -> None:
        if knock.house == "slow":
            await trio.sleep_forever()

    visitor = Visitor(ring)
    world.promise(*(Knock("slow", door, door) for door in range(20)))
    await world.start(visitor)
    await trio.sleep(1)
    quick = [Knock(f"house {n}", 1, n) for n in range(8)]
    world.promise(*quick)
    await trio.sleep(5)
    assert set(visitor.done) == set(quick)
    assert visitor.most["slow"] == VISITS.workers_per_group


def test_a_house_that_has_a_worker_gets_one_less() -> None:
    doors = [DueEffect(n, "knock", f"a/{n}", {}, None, (), 0, AT, "a") for n in range(3)]
    assert assign_to_workers(VISITS, doors, free=3, taken={"a": VISITS.workers_per_group - 1}) == [[doors[0], doors[1]]]


@scenario(seeds=3)
async def test_each_house_has_its_turn_however_many_others_have_ever_more(world: World) -> None:
    async def ring(knock: Knock, attempt: Attempt) -> None:
        if knock != last:
            world.promise(Knock(knock.house, 1, knock.number + 1))

    visitor, last = Visitor(ring), Knock("z", 1, 0)
    world.promise(*(Knock(f"house {n:02}", 1, 0) for n in range(40)), last)
    await world.start(visitor)
    await Eventually(lambda: last in visitor.done, "the last house had its turn", 60).wait_until_true()


@scenario(seeds=5)
async def test_a_busy_door_leaves_a_worker_to_the_next_one(world: World) -> None:
    async def ring(knock: Knock, attempt: Attempt) -> None:
        if knock.door == 1:
            await trio.sleep_forever()

    visitor = Visitor(ring)
    world.promise(*(Knock("a", 1, n) for n in range(5)), Knock("a", 2, 6))
    await world.start(visitor)
    await trio.sleep(2)
    assert visitor.done == [Knock("a", 2, 6)]


@scenario(seeds=3)
async def test_what_fails_is_tried_by_the_schedule_and_holds_up_only_its_door(world: World) -> None:
    tries: list[float] = []

    async def ring(knock: Knock, attempt: Attempt) -> None:
        if knock.number == 1:
            tries.append(trio.current_time())
            if attempt.number < 4:
                raise RuntimeError("nobody opens")

    visitor = Visitor(ring)
    world.promise(Knock("a", 1, 1), Knock("a", 1, 2), Knock("a", 2, 3))
    await world.start(visitor)
    await world.empty(60)
    assert [one.number for one in visitor.done] == [3, 1, 2]
    assert world.decisions("outbox.retry") == ["again in 1 s", "again in 5 s", "again in 5 s"]
    assert [round(after - before) for before, after in pairwise(tries)] in ([1, 5, 5], [2, 6, 6])


@scenario(seeds=3)
async def test_a_delivery_that_is_asked_for_later_is_tried_then(world: World) -> None:
    run = world.run
    asked = {1: timedelta(hours=1), 2: timedelta(days=10), 3: timedelta(0)}

    async def ring(knock: Knock, attempt: Attempt) -> None:
        if attempt.number == 1:
            raise Later(run.clock.now() + asked[knock.number], "Retry-After")

    visitor = Visitor(ring)
    world.promise(*(Knock("a", number, number) for number in asked))
    await world.start(visitor)
    await trio.sleep(1)
    decisions = {"again in 3600 s", "again in 172800 s", "again in 1 s"}
    assert set(world.decisions("outbox.retry")) == decisions, "after a second, and before it is given up"


@scenario(seeds=3)
async def test_a_delivery_that_was_not_tried_counts_as_none(world: World) -> None:
    run, numbers = world.run, list[int]()

    async def ring(knock: Knock, attempt: Attempt) -> None:
        numbers.append(attempt.number)
        if len(numbers) < 4:
            raise NotTried(run.clock.now() + timedelta(minutes=1), "left alone")
        if len(numbers) == 4:
            raise OSError("no answer")

    world.promise(Knock("a", 1, 1))
    await world.start(Visitor(ring))
    await trio.sleep(5 * 60)
    assert numbers == [1, 1, 1, 1, 2]
    assert world.decisions("outbox.retry") == ["again in 60 s"] * 3 + ["again in 1 s"]


@scenario(seeds=5)
async def test_what_is_given_up_is_written_in_the_transaction_that_deletes_it(world: World) -> None:
    async def ring(knock: Knock, attempt: Attempt) -> Finish | None:
        if knock.number == 1:
            raise GivenUp("gone")
        return lambda db: db.execute(NEW_TAG, knock.number, "finished")

    def nothing_is_half_done() -> bool:
        return world.left() + len(world.notes()) in (2, 0)  # nothing after the run

    world.promise(Knock("a", 1, 1), Knock("a", 1, 2))
    world.run.always(nothing_is_half_done)
    await world.start(Visitor(ring))
    await world.empty(30)
    assert world.notes() == ["given up: gone", "finished"]
    assert world.decisions("outbox.given_up") == ["given up"]


@scenario(seeds=3)
async def test_what_could_not_be_delivered_in_time_is_given_up(world: World) -> None:
    async def ring(knock: Knock, attempt: Attempt) -> None:
        raise RuntimeError("nobody opens")

    world.promise(Knock("a", 1, 1))
    world.run.database.arrange(age, TWO_DAYS)
    await world.start(Visitor(ring))
    await world.empty(5)
    assert world.notes() == ["given up: nobody opens"]


async def age(db: Connection, by: timedelta) -> None:
    await db.execute("UPDATE outbox SET created_at = created_at - $1::interval", by)


@simulation(seeds=5, world=partial(stage, mail=True))
async def test_a_mail_server_that_takes_nothing_delays_no_announcement(sim: Simulation) -> None:
    people = await sim.people(*(f"person{n}" for n in range(MAIL.workers + 2)))
    taking: list[str] = []

    async def hang(self: Server, letter: Letter) -> None:
        taking.append(letter.to)
        await trio.sleep_forever()

    letters = [mail(APPROVAL, person.id) for person in people]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Server, "_carry", hang)
        await sim.stop()
        await sim.start()
        sim.database.arrange(sim.actors.outbox.promise, letters, Origin("test"))
        sim.actors.outbox.wake(MAIL)
        await trio.sleep(1)
        assert len(taking) == MAIL.workers
        before = sim.late
        sim.database.arrange(sim.actors.outbox.promise, [files_unused(["a.png"])], Origin("test"))
        await trio.sleep(1.5)
        assert sim.late == before + 1
        await sim.kill()
    await sim.start()
    await sim.calm()
    assert {letter.to for letter in sim.mails} == {f"{person.name}@troupe.test" for person in people}


@simulation(seeds=3, world=stage)
async def test_facts_that_a_turn_has_published_since_the_relay_looked_are_not_published_again(sim: Simulation) -> None:
    """The relay may look between the commit of a turn and its publication, and would publish after the next turn."""
    (ada,) = await sim.people("ada")
    server, told = sim.actors.outbox, list[int]()
    effects = server.effects_of([PublishedStatus(sim.new_id(), ada.id).promised_by(ada.id)], Origin("test"))

    async def note(context: object, effect: Effect, attempt: Attempt) -> None:
        told.append(attempt.id)

    async def claim(db: Connection, ids: list[int], *terms: Any) -> set[int]:
        with server.publication(ids):
            told.extend(ids)
        return await claimed(db, ids, *terms)

    claimed, kind = outbox.claim, effects[0].kind
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.KINDS, kind, replace(registry.KINDS[kind], execute=note))
        patch.setattr(outbox, "claim", claim)
        sim.database.arrange(outbox.insert_many, effects, sim.run.clock.now())
        server.wake()
        await sim.calm()
    assert told == [effects[0].id]
