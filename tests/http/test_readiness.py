"""`/health` says that the process answers, `/ready` that its database does too."""

from typing import Any

import pytest
import trio
import trio.testing

from troupe.http.server import readiness
from troupe.http.server.readiness import KEPT, PATIENCE, Readiness
from troupe.storage.engine.database import Unavailable

from ..clients import Stage

Clock = trio.testing.MockClock


class Database:
    """Answers after a delay, or not at all."""

    def __init__(self) -> None:
        self.questions = 0
        self.seconds = 0.0
        self.error: Exception | None = None

    async def read(self, *_: object) -> None:
        self.questions += 1
        with trio.CancelScope(shield=True):  # as the pool, which waits for what it has begun
            await trio.sleep(self.seconds)
        if self.error is not None:
            raise self.error


async def test_a_server_is_ready_when_its_database_answers(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    client = stage.anybody()
    answer = await client.get("/ready")
    assert (answer.status, answer.json) == (200, {"status": "UP"})

    async def fail(*_: object) -> bool:
        return False

    monkeypatch.setattr(Readiness, "check", fail)
    answer = await client.get("/ready")
    assert (answer.status, answer.headers["Retry-After"], list(answer.json)) == (503, "3", ["error"])
    assert (await client.get("/health")).status == 200


async def test_one_query_serves_all_requests_of_a_moment(autojump_clock: Clock) -> None:
    database: Any = Database()
    async with trio.open_nursery() as nursery:
        asked = Readiness(database)
        nursery.start_soon(asked.run)
        for _ in range(100):
            nursery.start_soon(asked.check)
        assert await asked.check()
        assert database.questions == 1
        await trio.sleep(KEPT)
        database.error = Unavailable("gone")
        assert not await asked.check()
        assert not await asked.check()
        assert database.questions == 2
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("error", [Unavailable("gone"), RuntimeError("a bug")])
async def test_a_database_that_fails_makes_the_server_unready_until_it_answers(
    error: Exception, autojump_clock: Clock
) -> None:
    database: Any = Database()
    async with trio.open_nursery() as nursery:
        asked = Readiness(database)
        nursery.start_soon(asked.run)
        database.error = error
        assert not await asked.check()
        database.error = None
        await trio.sleep(KEPT)
        assert await asked.check()
        nursery.cancel_scope.cancel()


async def test_requests_do_not_wait_long_for_a_database_that_hangs_and_it_is_asked_once(autojump_clock: Clock) -> None:
    database: Any = Database()
    database.seconds = 60.0
    async with trio.open_nursery() as nursery:
        asked = readiness.Readiness(database)
        nursery.start_soon(asked.run)
        for _ in range(10):
            began = trio.current_time()
            assert not await asked.check()
            assert trio.current_time() - began == pytest.approx(PATIENCE)
        assert database.questions == 1
        database.seconds = 0.0
        await trio.sleep(60)
        assert await asked.check()
        nursery.cancel_scope.cancel()
