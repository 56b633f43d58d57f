"""A server of the stage as a node: with a clock of its own, and a label, by which it can be frozen."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
import trio

from troupe.actors.kernel import Ids
from troupe.supervision.testing import Budget, Run
from troupe.supervision.testing.faults import never
from troupe.supervision.testing.run import MORNING
from troupe.supervision.testing.series import PlayedSeed, Series
from troupe.supervision.testing.stage import Dropped, Simulation, sandbox, stage, token_of
from troupe.supervision.testing.stage.api import SimulatedReply
from troupe.supervision.testing.stage.server import DOMAIN, ServerPlace

OFFSET = 3600.0


@asynccontextmanager
async def node(run: Run) -> AsyncGenerator[Simulation]:
    """A server with a label, whose clock is an hour ahead."""
    place = ServerPlace(DOMAIN, run.open_database(sandbox, "n1 "), "n1 ", 1, clock_offset=OFFSET)
    async with trio.open_nursery() as nursery:
        sim = Simulation(run, nursery, 300.0, place=place)
        await sim.start()
        yield sim
        await sim.stop()
        nursery.cancel_scope.cancel()


def play(scenario: Callable[[Simulation], Awaitable[None]], *, seed: int = 0) -> PlayedSeed:
    played = Series(scenario, node).play(seed, "random", never)
    assert played.error is None, played.error
    return played


def test_clocks_with_an_offset_go_alike() -> None:
    async def scenario(run: Run) -> None:
        ahead, behind = run.clock_of(60.0), run.clock_of(-60.0)
        await trio.sleep(5)
        assert run.clock.now() == MORNING + timedelta(seconds=5)
        assert ahead.now() - behind.now() == timedelta(seconds=120)
        assert ahead.monotonic() == behind.monotonic() == 5

    @asynccontextmanager
    async def world(run: Run) -> AsyncGenerator[Run]:
        yield run

    assert Series(scenario, world).play(0, "random", never).error is None


def test_everything_of_a_server_has_its_clock() -> None:
    """No row is of the time of the run, which would be an hour too early."""

    async def scenario(sim: Simulation) -> None:
        ada, bob = await sim.people("ada", "bob")
        bob.has_followed(ada)
        sim.sign_in([ada])
        published = await ada.publish("hello")
        await sim.calm()
        assert await bob.home() == [published]
        assert sim.clock.now() - sim.run.clock.now() == timedelta(seconds=OFFSET)
        assert Ids(sim.run.clock_of(OFFSET - 60)).next() < published < Ids(sim.run.clock_of(OFFSET + 60)).next()
        assert sim.api.http_context.clock.now() == sim.clock.now()
        for table in ("statuses", "accounts", "follows", "access_tokens"):
            rows = sim.database.rows(f"SELECT created_at FROM {table}")
            assert rows, table
            assert all(row["created_at"] >= MORNING + timedelta(seconds=OFFSET) for row in rows), table

    play(scenario)


def test_a_frozen_server_does_nothing_until_it_is_thawed() -> None:
    async def scenario(sim: Simulation) -> None:
        (ada,) = await sim.people("ada")

        async def publish() -> None:
            await ada.publish("hello")

        async with sim.together() as go:
            sim.run.freeze("n1 ")
            go(publish)
            await trio.sleep(5)
            assert sim.database.rows("SELECT FROM statuses") == []
            sim.run.thaw("n1 ")
        await sim.calm()
        assert await ada.home() == ada.published

    played = play(scenario)
    assert {line.who.split()[0] for line in played.trace if line.at == 5.0 and not line.what} > {"n1"}
    assert not any(line.who.startswith("n1 ") for line in played.trace if 0 < line.at < 5 and not line.what)


def test_a_frozen_server_can_be_killed_and_started_again() -> None:
    async def scenario(sim: Simulation) -> None:
        (ada,) = await sim.people("ada")
        await ada.publish("hello")
        sim.run.freeze("n1 ")
        await trio.sleep(5)
        await sim.kill()
        await sim.start()
        assert await ada.home() == ada.published

    play(scenario)


def test_a_frozen_server_answers_no_request_before_it_is_thawed() -> None:
    async def scenario(sim: Simulation) -> None:
        (ada,) = await sim.people("ada")
        sim.sign_in([ada])
        answers: list[tuple[float, int]] = []

        def request() -> Awaitable[SimulatedReply]:
            return sim.api.send("GET", "/api/v1/accounts/verify_credentials", token_of(ada))

        async def ask() -> None:
            reply = await sim.serve(request)
            answers.append((trio.current_time(), reply.status))

        async def from_memory() -> None:
            at = await sim.serve(look)
            assert at == trio.current_time() == 5.0

        async with sim.together() as go:
            sim.run.freeze("n1 ")
            go(ask)
            go(from_memory)
            with trio.move_on_after(1) as patience:
                await ask()
            assert patience.cancelled_caught
            await trio.sleep(4)
            assert answers == []
            sim.run.thaw("n1 ")
        assert answers == [(5.0, 200)]
        with pytest.raises(KeyError):
            await sim.serve(fail)

    async def fail() -> None:
        raise KeyError

    async def look() -> float:
        return trio.current_time()

    for seed in range(5):
        play(scenario, seed=seed)


def test_a_request_to_a_server_that_is_killed_is_dropped() -> None:
    async def scenario(sim: Simulation) -> None:
        dropped: list[float] = []

        async def ask() -> None:
            with pytest.raises(Dropped):
                await sim.serve(trio.sleep_forever)
            dropped.append(trio.current_time())

        async with sim.together() as go:
            go(ask)
            await trio.sleep(1)
            sim.run.freeze("n1 ")
            go(ask)
            await trio.sleep(1)
            await sim.kill()
            await sim.run.quiet()
            assert dropped == [2.0, 2.0]
            await ask()
        await sim.start()

    for seed in range(5):
        play(scenario, seed=seed)


@pytest.mark.parametrize("overlapping", [False, True])
def test_deadlines_may_beat_ready_work_on_the_stage(overlapping: bool) -> None:
    async def scenario(sim: Simulation) -> None:
        ada, bob = await sim.people("ada", "bob")
        bob.has_followed(ada)
        stream = await bob.stream()
        async with sim.together() as go:
            go(ada.publish, "hello", name="phone")
            go(bob.home, name="laptop")
        await sim.calm()
        assert await bob.home() == ada.published
        assert stream.seen == ada.published

    @asynccontextmanager
    async def world(run: Run) -> AsyncGenerator[Simulation]:
        async with stage(run, overlapping=overlapping) as sim:
            yield sim

    series = Series(scenario, world, Budget(2), time_is_a_choice=True)
    assert series.play_all(range(3 if overlapping else 8), ["random", "pct"]) is None
