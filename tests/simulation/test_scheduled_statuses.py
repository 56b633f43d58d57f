"""A scheduled status is published once, or never if it was cancelled, also with crashes at its time."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import pytest
import trio

from troupe.actors.commands import scheduled_statuses
from troupe.actors.commands.scheduled_statuses import CancelScheduledStatus, MoveScheduledStatus, ScheduleStatus
from troupe.actors.commands.statuses import PublishStatus
from troupe.actors.kernel import Refused
from troupe.storage.scheduled_statuses import ScheduledStatus
from troupe.storage.statuses import Status
from troupe.supervision.testing import Budget, Fault, simulation, sweep
from troupe.supervision.testing.stage import Person, Simulation, stage

SOONEST = timedelta(seconds=1)  # in the place of five minutes, through which the outbox would look 300 times
AHEAD = timedelta(seconds=12)  # longer than three faults keep a client waiting
MEETING = (timedelta(seconds=-0.5), timedelta(0), timedelta(seconds=0.5), timedelta(seconds=1.1))
PLACES = "SELECT (SELECT count(*) FROM scheduled_statuses) AS waiting, (SELECT count(*) FROM statuses) AS published"
KEY = "the key"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduled_statuses, "SOONEST", SOONEST)


class Scene:
    """Ada schedules, Bob follows her; at the time itself her devices do something about it."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.at = sim.run.clock.now() + AHEAD

    async def begin(self, *, listening: bool = True) -> int:
        """The id of what is scheduled. A stream ends with its server, and hears again from the next what it heard."""
        self.ada, self.bob = await self.sim.people("ada", "bob")
        self.bob.has_followed(self.ada)
        self.stream = await self.bob.stream() if listening else None
        self.wanted = ScheduleStatus(PublishStatus("@bob later", idempotency_key=KEY), self.at)
        made = await self.ada.insist(self.wanted)
        assert isinstance(made, ScheduledStatus)
        return made.id

    def places(self) -> tuple[int, int]:
        """How many are scheduled, how many published."""
        (row,) = self.sim.database.rows(PLACES)
        return row["waiting"], row["published"]

    async def watch(self) -> None:
        """It is scheduled or published and never both, as long as anything may happen to it."""
        await self.until(self.at + MEETING[0])
        for _ in range(30):
            assert sum(self.places()) <= 1
            await trio.sleep(0.1)

    async def when(self, device: str, do: Callable[[], Awaitable[object]]) -> None:
        """About the time it was scheduled for, on one side of it or the other."""
        await self.until(self.at + self.sim.run.random.choice(MEETING))
        self.sim.run.note("acts", device)
        await do()

    async def until(self, instant: datetime) -> None:
        await trio.sleep(max(0.0, (instant - self.sim.run.clock.now()).total_seconds()))

    async def end(self, *, moved: bool = False) -> list[int]:
        """What is published when all is over; later when it may have been moved."""
        await self.until(self.at + (2 * AHEAD if moved else timedelta(0)))
        await self.sim.calm()
        published = [row["id"] for row in self.sim.database.rows("SELECT id FROM statuses")]
        assert self.places() == (0, len(published)), "what is due does not wait"
        assert await self.bob.home() == published
        assert self.stream is None or self.stream.seen == published
        told = self.sim.database.rows("SELECT status_id FROM notifications")
        assert [row["status_id"] for row in told] == published
        return published


async def move(ada: Person, id: int, by: datetime) -> bool:
    """Whether it was still there to be moved."""
    try:
        await ada.insist(MoveScheduledStatus(id, by))
    except Refused as refusal:
        if refusal.status != 404:
            raise
        return False
    return True


# An effect that is taken before it is done is found within 8 runs.
@simulation(seeds=16, faults=3, world=stage)
async def test_what_is_moved_at_its_time_is_published_once(sim: Simulation) -> None:
    scene = Scene(sim)
    id = await scene.begin()
    moved: list[bool] = []

    async def put_off() -> None:
        moved.append(await move(scene.ada, id, sim.run.clock.now() + AHEAD))

    async def send_again() -> None:
        again = await scene.ada.insist(scene.wanted)
        assert isinstance(again, ScheduledStatus | Status)
        assert (again.id == id) == isinstance(again, ScheduledStatus)

    async with sim.together() as go:
        for device in ("phone", "laptop"):
            go(scene.when, device, put_off, name=device)
        go(scene.when, "watch", send_again, name="watch")
        go(scene.watch, name="onlooker")
    (published,) = await scene.end(moved=True)
    again = await scene.ada.insist(scene.wanted)
    assert isinstance(again, Status)
    assert again.id == published
    assert published > id
    sim.sometimes(True in moved, "it was moved")
    sim.sometimes(False in moved, "it was too late to move it")
    sim.sometimes(sim.logged("actor.crashed", actor=f"account/{scene.ada.id}") > 0, "the author crashed")


# The pinned run finds turns that interleave, which others may take more than 24 runs for.
@simulation(seeds=16, faults=3, pinned=[(9, "random")], world=stage)
async def test_what_is_cancelled_at_its_time_is_published_once_or_never(sim: Simulation) -> None:
    scene = Scene(sim)
    id = await scene.begin()
    cancelled: list[bool] = []

    async def cancel() -> None:
        try:
            await scene.ada.insist(CancelScheduledStatus(id))
        except Refused as refusal:
            if refusal.status != 404:
                raise
        else:
            cancelled.append(True)

    async def put_off() -> None:
        await move(scene.ada, id, sim.run.clock.now() + AHEAD)

    async with sim.together() as go:
        go(scene.when, "phone", cancel, name="phone")
        go(scene.when, "laptop", put_off, name="laptop")
        go(scene.watch, name="onlooker")
    published = await scene.end(moved=True)
    assert not (cancelled and published), "who was told that it is cancelled never sees it"
    sim.sometimes(bool(cancelled), "it was cancelled")
    sim.sometimes(bool(published), "it was too late to cancel it")


@simulation(seeds=8, faults=Budget(2), world=stage)
async def test_a_server_that_was_away_at_the_time_publishes_when_it_is_back(sim: Simulation) -> None:
    scene = Scene(sim)
    id = await scene.begin(listening=False)
    await scene.until(scene.at + sim.run.random.choice(MEETING))
    await sim.kill()
    await scene.until(scene.at + AHEAD)
    await sim.start()
    (published,) = await scene.end()
    assert published > id


@sweep(world=stage, faults=Budget(1, frozenset(Fault)))
async def test_it_is_published_once_also_after_faults(sim: Simulation) -> None:
    scene = Scene(sim)
    await scene.begin()
    assert len(await scene.end()) == 1
