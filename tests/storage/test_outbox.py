"""Outbox, idempotency keys and dead letters: what the runtime must not forget, and may forget in time."""

from datetime import datetime, timedelta
from typing import Any

import orjson
import pytest

from troupe.actors.kernel import Ids
from troupe.storage import dead_letters, idempotency, outbox, stream_log
from troupe.storage.dead_letters import DeadLetter
from troupe.storage.engine.database import Fenced
from troupe.storage.idempotency import KeyedStatus
from troupe.storage.outbox import DueEffect, NewEffect
from troupe.storage.upkeep.paging import Page

from .conftest import NOW, Stage, new_id

QUEUE = "visits"
# 100,000 effects that are due, of one group.
BACKLOG = """
    INSERT INTO outbox (id, queue, kind, partition_key, group_key, shard, payload, due_at, created_at)
    SELECT n, 'visits', 'push', 'host/' || n % $1, 'host', n % $1 % 2, '{}', $2, $2 FROM generate_series(1, 100000) n
"""

RELAY, OTHER = 1, 2


class Now:
    """The clock of a stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def now(self) -> datetime:
        return self._stage.now


def effects_due(stage: Stage, *exclude: int) -> list[DueEffect]:
    return stage(outbox.due, stage.now, QUEUE, exclude_ids=exclude, of_a_group=10, limit=10)


def due(stage: Stage, *exclude: int) -> list[int]:
    return sorted(effect.id for effect in effects_due(stage, *exclude))


def claim(stage: Stage, relay: int, *ids: int, seconds: int = 30) -> set[int]:
    return stage(outbox.claim, ids, relay, stage.now, stage.now + timedelta(seconds=seconds))


def test_an_effect_is_due_until_it_is_done(stage: Stage) -> None:
    why: Any = {"request_id": "r1", "causes": ("http", "account/1"), "trace": "00-1-2-01"}
    new = NewEffect(new_id(), QUEUE, "fan-out", "account/1", {"status": 7}, **why)
    later = NewEffect(new_id(), QUEUE, "push", "account/2", {}, due_at=NOW + timedelta(seconds=60))
    stage(outbox.insert_many, [new, later], stage.now)
    [effect] = effects_due(stage)
    assert (effect.kind, effect.key, effect.payload, effect.attempts) == ("fan-out", "account/1", {"status": 7}, 0)
    assert (effect.request_id, effect.causes, effect.trace) == ("r1", ("http", "account/1"), "00-1-2-01")
    assert due(stage, new.id) == []
    stage(stream_log.log_published, {new.id: new_id()}, ["fan-out"], None)
    [change] = stage(stream_log.after, new.id, [], stage.now, 9)
    assert (change.kind, change.payload) == ("fan-out", {"status": 7})
    assert due(stage) == []
    stage.later(60)
    assert due(stage) == [later.id]


def test_an_effect_without_a_time_is_due_by_the_clocks_of_all_nodes(stage: Stage) -> None:
    at_once = NewEffect(new_id(), QUEUE, "fan-out", "account/1", {"status": 7})
    later = NewEffect(new_id(), QUEUE, "fan-out", "account/1", {"status": 8}, due_at=NOW)
    stage(outbox.insert_many, [at_once, later], stage.now)
    slow = stage.now - timedelta(minutes=1)
    assert [effect.id for effect in stage(outbox.left_by, "account/1", slow)] == [at_once.id]
    assert [change.payload for change in stage(stream_log.after, 0, ["fan-out"], slow, 9)] == [{"status": 7}]
    assert claim(stage, RELAY, later.id) == {later.id}  # by a node that is not slow, and publishes it
    assert len(stage(stream_log.after, 0, ["fan-out"], slow, 9)) == 2


def test_a_node_that_was_removed_from_its_cluster_logs_nothing(stage: Stage) -> None:
    new = NewEffect(new_id(), QUEUE, "fan-out", "account/1", {"status": 7})
    stage(outbox.insert_many, [new], stage.now)
    position = new_id()
    with pytest.raises(Fenced):
        stage(stream_log.log_published, {new.id: position}, ["fan-out"], 9)
    assert due(stage) == [new.id]
    assert stage(stream_log.after, 0, [], stage.now, 9) == []
    stage.sql("INSERT INTO nodes (name, incarnation, number, protocol, schema) VALUES ('nine', 9, 9, 1, 79)")
    stage(stream_log.log_published, {new.id: position}, ["fan-out"], 9)
    assert due(stage) == []
    assert [change.position for change in stage(stream_log.after, 0, [], stage.now, 9)] == [position]


def test_a_failed_effect_holds_back_those_behind_it_with_its_key(stage: Stage) -> None:
    first, second, other = (NewEffect(new_id(), QUEUE, "fan-out", key, {}) for key in ("a", "a", "b"))
    stage(outbox.insert_many, [first, second, other], stage.now)
    stage(outbox.fail, first.id, RELAY, NOW + timedelta(seconds=30), "boom" * 1000)
    assert due(stage) == [other.id]
    stage.later(30)
    assert due(stage) == [first.id, second.id, other.id]
    assert {effect.id: effect.attempts for effect in effects_due(stage)}[first.id] == 1


def test_a_claimed_effect_is_of_one_relay_until_its_lease_ends(stage: Stage) -> None:
    first, second, other = (NewEffect(new_id(), QUEUE, "fan-out", key, {}) for key in ("a", "a", "b"))
    stage(outbox.insert_many, [first, second, other], stage.now)
    assert claim(stage, RELAY, first.id) == {first.id}
    assert due(stage) == [other.id], "nothing of the partition overtakes what is carried out"
    assert claim(stage, OTHER, first.id, other.id) == {other.id}
    stage.later(29)
    renewed = stage(outbox.renew, [first.id, other.id], RELAY, stage.now, stage.now + timedelta(seconds=30))
    assert renewed == {first.id}
    stage.later(29)
    assert due(stage) == [other.id]
    stage.later(1)
    assert due(stage) == [first.id, second.id, other.id]
    assert stage(outbox.renew, [first.id], RELAY, stage.now, stage.now + timedelta(seconds=30)) == set()


def test_who_has_lost_its_claim_changes_nothing(stage: Stage) -> None:
    new = NewEffect(new_id(), QUEUE, "fan-out", "a", {})
    stage(outbox.insert_many, [new], stage.now)
    claim(stage, RELAY, new.id)
    stage.later(30)
    assert claim(stage, OTHER, new.id) == {new.id}
    stage(outbox.fail, new.id, RELAY, stage.now, "too late")
    stage(outbox.release, [new.id], RELAY)
    assert stage(outbox.delete_claimed, [new.id], RELAY) == set()
    assert due(stage) == []
    assert stage.value("SELECT attempts FROM outbox") == 0
    assert stage(outbox.delete_claimed, [new.id], OTHER) == {new.id}
    assert stage(outbox.delete_claimed, [new.id], OTHER) == set()


def test_the_claims_of_a_dead_node_end_and_those_of_living_nodes_stay(stage: Stage) -> None:
    """A number is used again: the relays of the next node with it have later ids."""
    ids = {number: Ids(Now(stage), number) for number in (0, 5, 6, 62)}
    dead, also_dead, *living = (ids[number].next() for number in (5, 5, 0, 6, 62))
    stage.later(1)
    before = ids[0].next()
    living.append(ids[5].next())
    new = {relay: NewEffect(new_id(), QUEUE, "push", str(relay), {}) for relay in (dead, also_dead, *living)}
    stage(outbox.insert_many, [*new.values()], stage.now)
    for relay, effect in new.items():
        assert claim(stage, relay, effect.id) == {effect.id}
    stage(outbox.release_of, 5, before)
    assert due(stage) == [new[dead].id, new[also_dead].id]
    assert {effect.tried for effect in effects_due(stage)} == {True}


def test_claims_without_an_end_end_soon_after_a_takeover(stage: Stage) -> None:
    """A server that is alone has taken the database from a cluster, of which a node may still work."""
    node, alone, free = (NewEffect(new_id(), QUEUE, "push", key, {}) for key in "abc")
    stage(outbox.insert_many, [node, alone, free], stage.now)
    stage(outbox.claim, [node.id], RELAY, stage.now, outbox.NO_END)
    assert claim(stage, OTHER, alone.id, seconds=10) == {alone.id}
    assert due(stage) == [free.id]
    stage(outbox.limit_all, stage.now + timedelta(seconds=30))
    stage.later(10)
    assert due(stage) == [alone.id, free.id]
    stage.later(20)
    assert due(stage) == [node.id, alone.id, free.id]


def test_a_relay_finds_the_effects_of_its_shards(stage: Stage) -> None:
    new = [NewEffect(new_id(), QUEUE, "push", f"account/{shard}", {}, shard=shard) for shard in (0, 1, 2, None)]
    stage(outbox.insert_many, new, stage.now)

    def found(*shards: int) -> list[int]:
        effects = stage(outbox.due, stage.now, QUEUE, of_a_group=10, limit=10, shards=shards)
        return [effect.id for effect in effects]

    zero, one, two, unknown = (effect.id for effect in new)
    assert found(1, 2) == [one, two]
    assert found(0) == [zero, unknown], "a row that is older than its shard has an owner too"
    assert found() == []
    assert due(stage) == [zero, one, two, unknown]


def test_what_was_given_back_or_failed_can_be_claimed_at_once(stage: Stage) -> None:
    first, second = (NewEffect(new_id(), QUEUE, "fan-out", key, {}) for key in ("a", "b"))
    stage(outbox.insert_many, [first, second], stage.now)
    claim(stage, RELAY, first.id, second.id)
    stage(outbox.release, [first.id], RELAY)
    stage(outbox.fail, second.id, RELAY, stage.now, "boom")
    assert claim(stage, OTHER, first.id, second.id) == {first.id, second.id}


def test_what_a_relay_has_begun_with_is_known_as_tried(stage: Stage) -> None:
    """Also after a relay has died with it, or has put it off after a try that failed."""
    names = ("given back", "given back untouched", "put off", "failed", "died", "waits")
    new = {name: NewEffect(new_id(), QUEUE, "fan-out", name, {}) for name in names}
    stage(outbox.insert_many, list(new.values()), stage.now)
    claim(stage, RELAY, *(new[name].id for name in names[:-1]))
    stage(outbox.release, [new[name].id for name in names[:2]], RELAY, [new["given back untouched"].id])
    stage(outbox.defer, new["put off"].id, RELAY, stage.now, "away")
    stage(outbox.fail, new["failed"].id, RELAY, stage.now, "boom")
    stage.later(60)
    assert {one.key for one in effects_due(stage) if one.tried} == {"given back", "failed", "died"}
    claim(stage, OTHER, new["failed"].id)
    stage(outbox.defer, new["failed"].id, OTHER, stage.now, "away", tried=True)
    assert {one.key for one in effects_due(stage) if one.tried} == {"given back", "failed", "died"}


def test_what_waits_for_another_try_cannot_be_claimed(stage: Stage) -> None:
    new = NewEffect(new_id(), QUEUE, "fan-out", "a", {}, due_at=NOW + timedelta(seconds=1))
    stage(outbox.insert_many, [new], stage.now)
    assert claim(stage, RELAY, new.id) == set()


def test_no_effects_are_no_statement(stage: Stage) -> None:
    stage(outbox.insert_many, [], stage.now)
    assert due(stage) == []


def test_a_key_names_its_status_for_an_hour(stage: Stage) -> None:
    ada = stage.account("ada")
    first, second = KeyedStatus(status_id=stage.status(ada).id), KeyedStatus(scheduled_status_id=7)
    hour = timedelta(hours=1)
    assert stage(idempotency.find, ada.id, "k", NOW - hour) is None
    assert stage(idempotency.insert, ada.id, "k", first, NOW, NOW - hour)
    assert not stage(idempotency.insert, ada.id, "k", second, NOW, NOW - hour)
    assert stage(idempotency.find, ada.id, "k", NOW - hour) == first
    after = NOW + hour
    assert stage(idempotency.find, ada.id, "k", after - hour) is None
    assert stage(idempotency.insert, ada.id, "k", second, after, after - hour)
    assert stage(idempotency.find, ada.id, "k", after - hour) == second


def test_keys_that_have_expired_go_when_others_come(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    hour = timedelta(hours=1)
    for number in range(4):
        stage(idempotency.insert, ada.id, str(number), KeyedStatus(scheduled_status_id=number + 1), NOW, NOW - hour)
    after = NOW + hour
    assert stage(idempotency.insert, ada.id, "0", KeyedStatus(scheduled_status_id=8), after, after - hour)
    assert stage(idempotency.insert, bob.id, "0", KeyedStatus(scheduled_status_id=9), after, after - hour)
    kept = stage.sql("SELECT account_id, scheduled_status_id FROM idempotency ORDER BY 2")
    assert [tuple(row) for row in kept] == [(ada.id, 8), (bob.id, 9)]


def test_a_dead_letter_waits_to_be_read(stage: Stage) -> None:
    letters = [DeadLetter(new_id(), "home/1", "Deliver", {"n": 1}, "x" * 5000, None, ("a",), NOW) for _ in range(3)]
    for letter in (*letters, letters[0]):
        stage(dead_letters.insert, letter)
    found = stage(dead_letters.page, Page(2))
    assert [letter.id for letter in found] == [letters[2].id, letters[1].id]
    assert (found[0].causes, found[0].message, len(found[0].error)) == (("a",), {"n": 1}, 2000)
    assert stage(dead_letters.delete, [letters[0].id])
    assert not stage(dead_letters.delete, [letters[0].id])


def test_each_group_has_its_share_of_what_is_due(stage: Stage) -> None:
    """However much is due for one account, in its own name or by its reminders, the others come too."""
    many = [NewEffect(new_id(), QUEUE, "push", "account/1", {}) for _ in range(5)]
    reminders = [NewEffect(new_id(), QUEUE, "fan-out", f"mute/{n}", {}, group="reminder/1") for n in range(5)]
    other = NewEffect(new_id(), QUEUE, "push", "account/2", {})
    stage(outbox.insert_many, [*many, *reminders, other], stage.now)

    def due(limit: int = 10, groups: tuple[str, ...] = ()) -> list[tuple[str, int]]:
        found = stage(
            outbox.due, stage.now, QUEUE, exclude_ids=(many[0].id,), exclude_groups=groups, of_a_group=2, limit=limit
        )
        return [(effect.group, effect.id) for effect in found]

    firsts = [("account/1", many[1].id), ("reminder/1", reminders[0].id), ("account/2", other.id)]
    assert due() == [*firsts, ("account/1", many[2].id), ("reminder/1", reminders[1].id)]
    assert due(limit=3) == firsts
    assert due(groups=("account/1", "reminder/1")) == [("account/2", other.id)]


def test_groups_before_a_name_are_left_to_another_look(stage: Stage) -> None:
    new = [NewEffect(new_id(), QUEUE, "push", key, {}) for key in ("a", "b", "c")]
    stage(outbox.insert_many, new, stage.now)
    found = stage(outbox.due, stage.now, QUEUE, after="a", of_a_group=2, limit=10)
    assert [effect.group for effect in found] == ["b", "c"]


def test_effects_are_due_in_their_own_queue_alone(stage: Stage) -> None:
    stage(outbox.insert_many, [NewEffect(new_id(), "other", "push", "a", {})], stage.now)
    assert due(stage) == []


def test_a_partition_keeps_its_order_when_its_first_effect_is_due_again_after_the_others(stage: Stage) -> None:
    first, second = (NewEffect(new_id(), QUEUE, "push", "host/1", {}, group="host") for _ in range(2))
    stage(outbox.insert_many, [first, second], stage.now)
    stage(outbox.fail, first.id, RELAY, stage.later(30), "boom")
    assert [effect.id for effect in effects_due(stage)] == [first.id, second.id]


@pytest.mark.parametrize("shards", [None, [0]])
@pytest.mark.parametrize("partitions", [1, 3, 100_000])
def test_a_long_backlog_is_not_read_to_its_end(stage: Stage, partitions: int, shards: list[int] | None) -> None:
    """Pages of the table and its indexes that a look reads: hundreds of 10,000. All groups have their share."""
    stage.sql(BACKLOG, partitions, stage.now)
    other = NewEffect(new_id(), QUEUE, "push", "host z/1", {}, group="host z", shard=0)
    stage(outbox.insert_many, [other], stage.now)
    stage.sql("ANALYZE outbox")
    found = stage(outbox.due, stage.now, QUEUE, of_a_group=4, limit=8, shards=shards)
    assert [effect.group for effect in found].count("host") == 4
    assert "host z" in {effect.group for effect in found}
    stage.sql(f"PREPARE look AS {outbox.DUE}")
    owned = "NULL" if shards is None else f"ARRAY{shards}"
    arguments = f"'{stage.now}', '{QUEUE}', '{{}}', '{{}}', '', 4, 8, {owned}"
    explained = stage.value(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE look ({arguments})")
    [plan] = orjson.loads(explained)
    assert plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"] < 1000


def test_each_partition_of_a_group_has_its_share_of_what_is_due(stage: Stage) -> None:
    busy = [NewEffect(new_id(), QUEUE, "push", "host/1", {}, group="host") for _ in range(5)]
    quiet = NewEffect(new_id(), QUEUE, "push", "host/2", {}, group="host")
    stage(outbox.insert_many, [*busy, quiet], stage.now)
    found = stage(outbox.due, stage.now, QUEUE, of_a_group=2, limit=10)
    assert [effect.id for effect in found] == [busy[0].id, quiet.id]
