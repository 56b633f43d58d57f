"""Places for media jobs, in virtual time: no account has two, every account has a turn, and no place is lost."""

from __future__ import annotations

import random

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from troupe.actors.media.places import NoPlace, Places

ADA, BOB, EVE = 1, 2, 3


class Site:
    """Jobs of a second each, and the order in which they were done."""

    def __init__(self, count: int) -> None:
        self.places = Places(count)
        self.done: list[int] = []
        self.running: list[int] = []
        self.most = 0

    async def job(self, account_id: int, seconds: float = 1) -> None:
        async with self.places.take(account_id):
            assert account_id not in self.running, "two jobs of one account at once"
            self.running.append(account_id)
            self.most = max(self.most, len(self.running))
            try:
                await trio.sleep(seconds)
                self.done.append(account_id)
            finally:
                self.running.remove(account_id)


async def test_an_account_with_one_job_does_not_wait_for_all_of_another_ones(autojump_clock: MockClock) -> None:
    site = Site(1)
    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(site.job, ADA)
        await trio.sleep(0.5)
        nursery.start_soon(site.job, BOB)
        nursery.start_soon(site.job, BOB)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(site.job, EVE)
    assert site.done[:7] == [ADA, BOB, EVE, ADA, BOB, ADA, ADA]
    assert site.done.count(ADA) == 10


async def test_an_account_has_one_place_however_many_are_free(autojump_clock: MockClock) -> None:
    site = Site(4)
    begun = trio.current_time()
    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(site.job, ADA)
        nursery.start_soon(site.job, BOB)
    assert trio.current_time() - begun == 5
    assert site.most == 2


async def test_a_cancelled_wait_costs_no_place(autojump_clock: MockClock) -> None:
    site = Site(1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(site.job, ADA, 10)
        await trio.sleep(1)
        with pytest.raises(NoPlace):
            async with site.places.take(BOB, patience=2):
                raise AssertionError("ada has the only place")
        assert site.places.inspect() == "1 of 1"
        await trio.sleep(7.5)
        nursery.start_soon(site.job, BOB)
    assert site.done == [ADA, BOB]


async def test_a_place_that_is_given_at_the_moment_of_a_cancellation_is_passed_on(autojump_clock: MockClock) -> None:
    places = Places(1)
    async with trio.open_nursery() as nursery:
        scope = trio.CancelScope()

        async def wait_for_a_place() -> None:
            with scope:
                async with places.take(BOB):
                    raise AssertionError("was cancelled before it ran")

        async with places.take(ADA):
            nursery.start_soon(wait_for_a_place)
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()
        with trio.fail_after(1):
            async with places.take(EVE):
                pass
    assert places.inspect() == "0 of 1"


@pytest.mark.parametrize("seed", range(30))
async def test_no_order_of_comings_and_goings_loses_a_place_or_starves_an_account(
    autojump_clock: MockClock, seed: int
) -> None:
    chance, site = random.Random(seed), Site(chance_count := 1 + seed % 3)

    async def come_and_go(account_id: int) -> None:
        await trio.sleep(chance.uniform(0, 5))
        with trio.move_on_after(chance.choice([0.0, 0.5, 3.0, 1000.0])):
            await site.job(account_id, chance.uniform(0, 2))

    async with trio.open_nursery() as nursery:
        for number in range(40):
            nursery.start_soon(come_and_go, number % 7)
    assert site.places.inspect() == f"0 of {chance_count}"
    assert site.most <= chance_count
    async with trio.open_nursery() as nursery:
        for account_id in range(chance_count):
            nursery.start_soon(site.job, account_id)
    assert sorted(site.done[-chance_count:]) == list(range(chance_count))
