"""Refusals of storage in virtual time: each cause is told, thousands make few records, and the tree shows them."""

from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest
import trio
from trio.testing import MockClock

from troupe.storage.engine.database import NotOwner, Unavailable
from troupe.supervision.refusals import Refusals


class Noon:
    """A clock that stands still."""

    def now(self) -> datetime:
        return datetime(2026, 11, 22, 12, tzinfo=UTC)


class Records(list[tuple[str, dict[str, Any]]]):
    """The supervision log of a test."""

    def __call__(self, event: str, /, **facts: object) -> None:
        self.append((event, facts))


@pytest.fixture
def records() -> Records:
    return Records()


@pytest.fixture
def refusals(records: Records) -> Refusals:
    return Refusals(records, Noon())


def full(table: int) -> Unavailable:
    refusal = Unavailable("PostgreSQL is not available")
    text = f'could not extend file "base/5/{table}": No space left on device'
    refusal.__cause__ = asyncpg.DiskFullError(text)
    return refusal


async def test_286_refusals_of_one_cause_are_two_records(
    refusals: Refusals, records: Records, autojump_clock: MockClock
) -> None:
    for number in range(286):
        refusals.refused(full(number))
        await trio.sleep(0.25)
    assert [event for event, _ in records] == ["storage.refused"] * 2
    first, second = (facts for _, facts in records)
    assert first["error"] == 'disk full: could not extend file "base/5/0": No space left on device'
    assert (first["count"], second["count"]) == (None, 240)


async def test_refusals_of_all_shards_are_one_record(refusals: Refusals, records: Records) -> None:
    for shard in range(256):
        refusals.refused(NotOwner(f"shard {shard} has epoch 2, not 1"))
    assert [facts["error"] for _, facts in records] == [
        "the table shards names another owner of accounts: shard 0 has epoch 2, not 1"
    ]  # fmt: skip


async def test_another_cause_is_told_at_once(refusals: Refusals, records: Records, autojump_clock: MockClock) -> None:
    for _ in range(3):
        refusals.refused(full(1))
        refusals.refused(Unavailable("no connection to PostgreSQL was free"))
    assert [facts["error"].partition(":")[0] for _, facts in records] == [
        "disk full", "no connection to PostgreSQL was free",
    ]  # fmt: skip


async def test_doctor_is_told_of_refusals_for_a_minute(refusals: Refusals, autojump_clock: MockClock) -> None:
    assert refusals.of_the_last_minute() == ""
    refusals.refused(full(1))
    await trio.sleep(59)
    assert refusals.of_the_last_minute() == "disk full since 2026-11-22T12:00:00Z, 1 call, the last 59 s ago"
    await trio.sleep(2)
    assert refusals.of_the_last_minute() == ""


async def test_a_cause_without_a_text_of_its_own_stands_alone(refusals: Refusals, records: Records) -> None:
    refusal = Unavailable("PostgreSQL is not available")
    refusal.__cause__ = TimeoutError()
    refusals.refused(refusal)
    assert records[0][1]["error"] == "PostgreSQL can't be reached"


async def test_the_tree_shows_the_cause_for_as_long_as_it_lasts(
    refusals: Refusals, records: Records, autojump_clock: MockClock
) -> None:
    assert refusals.inspect() == {}
    refusals.refused(full(1))
    await trio.sleep(3)
    refusals.committed()  # a small one, which found room
    refusals.refused(full(1))
    await trio.sleep(8)
    assert refusals.inspect() == {"refusing": "disk full since 2026-11-22T12:00:00Z, 2 calls, the last 8 s ago"}
    await trio.sleep(3)
    refusals.committed()
    assert refusals.inspect() == {}
    assert records[-1] == ("storage.accepted", {"child": "storage", "error": "disk full", "count": 2})
    refusals.committed()
    assert len(records) == 2
