"""Parked messages: stored when the database lets it, before the end, and never at the price of an actor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import asyncpg
import orjson
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from troupe.actors.kernel import Address, Envelope, Ids, Message, Origin
from troupe.actors.kernel.codec import of_row
from troupe.storage.dead_letters import DeadLetter
from troupe.storage.engine.database import Unavailable
from troupe.supervision.children.parking import ROOM, Parking, contents

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class Noon:
    """A clock that stands still."""

    def now(self) -> datetime:
        return NOW


class Shelf:
    """A database that keeps letters, after the errors it was told to raise."""

    def __init__(self) -> None:
        self.letters: list[DeadLetter] = []
        self.errors: list[Exception] = []

    async def transact(self, work: Callable[..., Awaitable[Any]], /, *args: Any, **kwargs: Any) -> Any:
        await trio.lowlevel.checkpoint()
        if self.errors:
            raise self.errors.pop(0)
        self.letters.extend(args)

    async def transact_in(self, shard: int, work: Callable[..., Awaitable[Any]], /, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def entering(self, shard: int) -> tuple[int, int]:
        raise NotImplementedError

    async def transact_alone(self, work: Callable[..., Awaitable[Any]], /, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def transact_checked(self, work: Callable[..., Awaitable[Any]], /, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def read(self, work: Callable[..., Awaitable[Any]], /, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Told(Message[None]):
    """A message with all sorts of contents."""

    id: int
    name: str | None
    rows: tuple[int, ...]
    at: datetime = NOW
    hashes: dict[int, bytes] = field(default_factory=lambda: {7: b"\0"})


@dataclass(frozen=True, slots=True)
class Live(Message[None]):
    """A message that can't be written."""

    what: object


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def parking(shelf: Shelf) -> Parking:
    return Parking(shelf, Noon(), Ids(Noon()))


def park(parking: Parking, number: int = 1) -> None:
    envelope = Envelope(number, Told(number, "ada", (1, 2)), Origin("r1", ("Publish#5 at account/1",)))
    parking.park(Address("home", "1103"), envelope, ValueError("no"))


async def test_a_letter_has_its_address_its_content_and_its_error(parking: Parking, shelf: Shelf) -> None:
    stopping = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(parking.run, stopping)
        park(parking)
        await wait_all_tasks_blocked()
        (letter,) = shelf.letters
        stopping.set()
    assert (letter.address, letter.kind) == ("home/1103", "Told")
    assert (letter.error, letter.request_id, letter.causes) == ("ValueError: no", "r1", ("Publish#5 at account/1",))
    assert letter.created_at == NOW


async def test_parking_does_not_wait_and_lets_go_of_letters_rather_than_of_memory(
    parking: Parking, shelf: Shelf
) -> None:
    for number in range(ROOM + 10):
        park(parking, number)
    stopping = trio.Event()
    stopping.set()
    async with trio.open_nursery() as nursery:
        await nursery.start(parking.run, stopping)
    assert len(shelf.letters) == ROOM


async def test_letters_wait_for_the_database_in_order(
    parking: Parking, shelf: Shelf, autojump_clock: MockClock
) -> None:
    shelf.errors = [Unavailable("away")] * 5
    stopping = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(parking.run, stopping)
        for number in range(3):
            park(parking, number)
        await trio.sleep(10)
        assert [letter.message["id"] for letter in shelf.letters] == [0, 1, 2]
        stopping.set()


async def test_what_waits_is_stored_before_parking_stops(parking: Parking, shelf: Shelf) -> None:
    stopping = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(parking.run, stopping)
        for number in range(20):
            park(parking, number)
        stopping.set()
    assert len(shelf.letters) == 20


async def test_a_letter_that_cannot_be_stored_does_not_hold_up_the_others(parking: Parking, shelf: Shelf) -> None:
    shelf.errors = [ValueError("a NUL in a text")]
    stopping = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(parking.run, stopping)
        park(parking, 1)
        park(parking, 2)
        stopping.set()
    assert [letter.message["id"] for letter in shelf.letters] == [2]


@pytest.mark.parametrize(
    "error", [asyncpg.InsufficientPrivilegeError("no"), asyncpg.DiskFullError("full"), RuntimeError("a fault of ours")]
)
async def test_a_letter_is_kept_after_an_error_that_is_not_about_it(
    parking: Parking, shelf: Shelf, autojump_clock: MockClock, error: Exception
) -> None:
    shelf.errors = [error, error]
    stopping = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(parking.run, stopping)
        park(parking, 1)
        park(parking, 2)
        stopping.set()
    assert [letter.message["id"] for letter in shelf.letters] == [1, 2]


async def test_a_letter_survives_a_restart_of_parking(
    parking: Parking, shelf: Shelf, autojump_clock: MockClock
) -> None:
    shelf.errors = [Unavailable("away")]
    with trio.move_on_after(0.5):
        park(parking)
        await parking.run(trio.Event(), task_status=trio.TASK_STATUS_IGNORED)
    assert not shelf.letters
    stopping = trio.Event()
    stopping.set()
    await parking.run(stopping, task_status=trio.TASK_STATUS_IGNORED)
    assert len(shelf.letters) == 1


async def test_a_message_can_be_made_of_its_letter_again(parking: Parking, shelf: Shelf) -> None:
    stopping = trio.Event()
    stopping.set()
    park(parking)
    await parking.run(stopping, task_status=trio.TASK_STATUS_IGNORED)
    stored = orjson.loads(orjson.dumps(shelf.letters[0].message))
    assert of_row(Told, stored) == Told(1, "ada", (1, 2))


def test_what_cannot_be_written_has_no_contents() -> None:
    assert contents("hello") == contents(Live(iter(()))) == {}
