"""`/health/live` says that the process answers, `/health/ready` that it can do its work."""

from typing import Any

import pytest
import trio
import trio.testing

from troupe.actors.cluster.others import Alone
from troupe.http.access.operations import KEPT, MEANINGS, PATIENCE, Obstacle, Readiness
from troupe.http.server import limits
from troupe.storage.engine.database import Unavailable
from troupe.storage.engine.pool import open_pool

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


@pytest.fixture
async def asked(nursery: trio.Nursery) -> Readiness:
    """Readiness of a server that serves, on a database that answers."""
    database: Any = Database()
    readiness = Readiness(database, Alone())
    readiness.phase = "serving"
    nursery.start_soon(readiness.run)
    return readiness


async def test_a_server_that_can_work_says_so(stage: Stage) -> None:
    client = stage.anybody()
    for path in ("/health/live", "/health/ready"):
        answer = await client.get(path)
        assert (answer.status, answer.json) == (200, {"status": "UP"})


@pytest.mark.parametrize("obstacle", MEANINGS)
async def test_a_server_that_cant_work_says_why_and_lives(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, obstacle: Obstacle
) -> None:
    async def find(*_: object) -> tuple[Obstacle, ...]:
        return (obstacle,)

    monkeypatch.setattr(Readiness, "obstacles", find)
    client = stage.anybody()
    answer = await client.get("/health/ready")
    assert (answer.status, answer.headers["Retry-After"]) == (503, "3")
    text = f"Not ready: {MEANINGS[obstacle]}"
    assert answer.json == {"error": text, "details": {"obstacles": [obstacle]}}
    assert (await client.get("/health/live")).status == 200


async def test_a_server_is_not_ready_before_and_after_it_serves(asked: Readiness) -> None:
    assert await asked.obstacles() == ()
    asked.phase = "starting"
    assert await asked.obstacles() == ("starting",)
    asked.phase = "stopping"
    assert await asked.obstacles() == ("stopping",)


async def test_a_server_on_a_full_disk_is_not_ready(asked: Readiness) -> None:
    asked.is_disk_full = lambda: True
    assert await asked.obstacles() == ("disk",)


async def test_a_server_without_descriptors_for_clients_is_not_ready(
    asked: Readiness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "end_of_connections", lambda: 3)
    assert await asked.obstacles() == ("descriptors",)


async def test_a_server_whose_database_can_only_be_read_is_not_ready(dsn: str, nursery: trio.Nursery) -> None:
    async with open_pool(f"{dsn}{'&' if '?' in dsn else '?'}default_transaction_read_only=on", size=1) as pool:
        readiness = Readiness(pool, Alone())
        readiness.phase = "serving"
        nursery.start_soon(readiness.run)
        assert await readiness.obstacles() == ("read_only",)


async def test_one_query_serves_all_requests_of_a_moment(autojump_clock: Clock) -> None:
    database: Any = Database()
    async with trio.open_nursery() as nursery:
        asked = Readiness(database, Alone())
        asked.phase = "serving"
        nursery.start_soon(asked.run)
        for _ in range(100):
            nursery.start_soon(asked.obstacles)
        assert await asked.obstacles() == ()
        assert database.questions == 1
        await trio.sleep(KEPT)
        database.error = Unavailable("gone")
        assert await asked.obstacles() == ("database",)
        assert await asked.obstacles() == ("database",)
        assert database.questions == 2
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("error", [Unavailable("gone"), RuntimeError("a bug")])
async def test_a_database_that_fails_makes_the_server_unready_until_it_answers(
    error: Exception, autojump_clock: Clock
) -> None:
    database: Any = Database()
    async with trio.open_nursery() as nursery:
        asked = Readiness(database, Alone())
        asked.phase = "serving"
        nursery.start_soon(asked.run)
        database.error = error
        assert await asked.obstacles() == ("database",)
        database.error = None
        await trio.sleep(KEPT)
        assert await asked.obstacles() == ()
        nursery.cancel_scope.cancel()


async def test_requests_do_not_wait_long_for_a_database_that_hangs_and_it_is_asked_once(autojump_clock: Clock) -> None:
    database: Any = Database()
    database.seconds = 60.0
    async with trio.open_nursery() as nursery:
        asked = Readiness(database, Alone())
        asked.phase = "serving"
        nursery.start_soon(asked.run)
        for _ in range(10):
            began = trio.current_time()
            assert await asked.obstacles() == ("database",)
            assert trio.current_time() - began == pytest.approx(PATIENCE)
        assert database.questions == 1
        database.seconds = 0.0
        await trio.sleep(60)
        assert await asked.obstacles() == ()
        nursery.cancel_scope.cancel()


async def test_two_doctors_at_once_both_see_how_their_request_arrived(stage: Stage) -> None:
    probe, client = stage.http_context.probe, stage.anybody()
    for token in [probe.issue(), probe.issue()]:
        answer = await client.get("/health", headers={"X-Troupe-Probe": token, "Accept": "application/json"})
        assert answer.json["seen"]["peer"] == "127.0.0.1"
    assert "seen" not in (await client.get("/health", headers={"X-Troupe-Probe": "another"})).text
