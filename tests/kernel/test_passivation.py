"""Sleep: after ten idle minutes, or above the cap the least recently used first, and never for long at once."""

from __future__ import annotations

import time
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.kernel import IDLE, Address, SharedBound
from troupe.actors.kernel.passivation import AGAIN, SLICE

from .acting import Do, Kernel, MakeKernel, Player


async def test_an_actor_sleeps_after_ten_idle_minutes(kernel: Kernel) -> None:
    await kernel.wake("a")
    await trio.sleep(IDLE - 1)
    assert "a" in kernel.pool.cells
    await trio.sleep(AGAIN + 2)
    assert "a" not in kernel.pool.cells
    assert kernel.script.retirements == ["a"]


async def test_a_sleeping_actor_wakes_with_fresh_memory(kernel: Kernel) -> None:
    await kernel.ask("a", lambda player: player.done.append(1))
    await trio.sleep(IDLE + AGAIN + 1)
    assert await kernel.ask("a", lambda player: list(player.done)) == []
    assert kernel.script.loads == ["a", "a"]
    assert not kernel.told("actor.restored")


async def test_questions_keep_an_actor_awake_and_hints_do_not(kernel: Kernel) -> None:
    """Otherwise an unread timeline would stay awake as long as its authors write."""
    for key in ("asked", "told"):
        await kernel.wake(key)
    for _ in range(13):
        await trio.sleep(IDLE / 10)
        await kernel.ask("asked", lambda player: None)
        kernel.runtime.tell_awake(Address("player", "told"), Do(lambda player: None))
    assert set(kernel.pool.cells) == {"asked"}


async def test_an_actor_that_is_listened_to_does_not_sleep(kernel: Kernel, make_listener: Any) -> None:
    listener = make_listener()
    await kernel.subscribe("a", listener)
    await trio.sleep(3 * IDLE)
    assert "a" in kernel.pool.cells
    kernel.runtime.unsubscribe(Address("player", "a"), listener)
    await trio.sleep(AGAIN + 1)
    assert "a" not in kernel.pool.cells


async def test_an_actor_at_work_or_with_mail_does_not_sleep(make_kernel: MakeKernel) -> None:
    kernel = await make_kernel(idle=2)
    kernel.tell("a", kernel.pause(20))
    kernel.tell("a", lambda player: player.done.append("kept"))
    await trio.sleep(19)
    assert "a" in kernel.pool.cells
    await trio.sleep(1.01)
    assert kernel.script.loads == ["a"]
    await trio.sleep(10)
    assert "a" not in kernel.pool.cells


# The cap


async def test_above_the_cap_the_least_recently_used_sleeps_as_soon_as_another_one_wakes(
    make_kernel: MakeKernel,
) -> None:
    kernel = await make_kernel(most_awake=3)
    awake: list[str] = []
    for key in "abcadbe":
        await kernel.ask(key, lambda player: None)
        await trio.sleep(0.01)
        awake.append("".join(sorted(kernel.pool.cells)))
    assert awake == ["a", "ab", "abc", "abc", "acd", "abd", "bde"]


async def test_a_crowd_that_wakes_at_once_is_cut_down_to_the_cap_at_once(make_kernel: MakeKernel) -> None:
    kernel = await make_kernel(most_awake=100)
    for number in range(3_000):
        kernel.tell(str(number), lambda player: None)
    await wait_all_tasks_blocked()
    assert len(kernel.script.loads) == 3_000
    assert len(kernel.pool.cells) == 100


async def test_actors_at_work_are_spared_until_their_work_is_done(make_kernel: MakeKernel) -> None:
    kernel = await make_kernel(most_awake=3)
    for number in range(20):
        kernel.tell(str(number), kernel.pause(5))
    await trio.sleep(4)
    assert len(kernel.pool.cells) == 20
    await trio.sleep(2)
    assert len(kernel.pool.cells) == 3


async def test_the_cap_spares_those_that_are_listened_to(make_kernel: MakeKernel, make_listener: Any) -> None:
    kernel = await make_kernel(most_awake=1)
    for key in "abcde":
        await kernel.subscribe(key, make_listener())
    await kernel.ask("f", lambda player: None)
    await trio.sleep(1)
    assert set(kernel.pool.cells) == set("abcde")


async def test_those_that_are_not_listened_to_any_more_count_again(make_kernel: MakeKernel, make_listener: Any) -> None:
    kernel = await make_kernel(most_awake=1)
    listeners = {key: make_listener() for key in "abc"}
    for key, listener in listeners.items():
        await kernel.subscribe(key, listener)
        await trio.sleep(1)
    for key, listener in listeners.items():
        kernel.runtime.unsubscribe(Address("player", key), listener)
    await trio.sleep(1)
    assert set(kernel.pool.cells) == {"c"}


# A bound that several pools share


async def pools_that_hold_three(make_kernel: MakeKernel) -> list[Kernel]:
    kernels: list[Kernel] = []
    bound = SharedBound(lambda: sum(len(kernel.pool.cells) for kernel in kernels) > 3)
    for _ in range(3):
        kernels.append(await make_kernel(bound=bound))
    return kernels


def awake_in(kernels: list[Kernel]) -> list[str]:
    return ["".join(sorted(kernel.pool.cells)) for kernel in kernels]


async def test_of_several_pools_the_least_recently_used_sleeps_at_once(make_kernel: MakeKernel) -> None:
    kernels = await pools_that_hold_three(make_kernel)
    awake: list[list[str]] = []
    for place, key in enumerate("abcdefa"):
        await kernels[place % 3 if place else 0].ask(key, lambda player: None)
        await wait_all_tasks_blocked()
        awake.append(awake_in(kernels))
        await trio.sleep(0.01)
    assert awake[2:] == [["a", "b", "c"], ["d", "b", "c"], ["d", "e", "c"], ["d", "e", "f"], ["a", "e", "f"]]


async def test_a_pool_whose_actors_are_busy_or_listened_to_leaves_it_to_the_others(
    make_kernel: MakeKernel, make_listener: Any
) -> None:
    kernels = await pools_that_hold_three(make_kernel)
    for key in "ab":
        await kernels[0].subscribe(key, make_listener())
    kernels[1].tell("c", kernels[1].pause(5))
    for key in "defg":
        await kernels[2].ask(key, lambda player: None)
        await trio.sleep(0.01)
    await trio.sleep(1)
    assert awake_in(kernels) == ["ab", "c", ""]
    await trio.sleep(5)
    assert awake_in(kernels) == ["ab", "c", ""], "three are allowed"


# In slices


async def test_other_tasks_run_between_shedding_actors_after_about_a_millisecond(make_kernel: MakeKernel) -> None:
    kernel = await make_kernel(most_awake=1)
    steps = Steps(kernel)
    for number in range(200):
        kernel.tell(str(number), kernel.pause(1))
    await trio.sleep(5)
    assert len(kernel.pool.cells) == 1
    assert steps.longest <= 10


async def test_other_tasks_run_between_putting_idle_actors_to_sleep_after_about_a_millisecond(kernel: Kernel) -> None:
    steps = Steps(kernel)
    for number in range(200):
        kernel.tell(str(number), lambda player: None)
    await trio.sleep(IDLE + AGAIN + 1)
    assert not kernel.pool.cells
    assert steps.longest <= 10


async def test_an_actor_that_is_used_while_others_are_put_to_sleep_stays_awake(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("troupe.actors.kernel.passivation.LOOKS", 1)
    for key in ("a", "b", "c"):
        await kernel.wake(key)
    slept: list[str] = []

    def retired(player: Player) -> None:
        slept.append(player.address.key)
        kernel.tell("b", lambda player: None)
        kernel.cell("b").last_used = trio.current_time()

    kernel.script.retired = retired
    await trio.sleep(IDLE + AGAIN + 5)
    assert sorted(slept) == ["a", "c"]


class Steps(trio.abc.Instrument):
    """The most actors that one step of one task has put to sleep, when each takes a quarter of the slice."""

    def __init__(self, kernel: Kernel) -> None:
        self.longest = 0
        self._slept = 0
        kernel.script.retired = self._retired
        trio.lowlevel.add_instrument(self)

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._slept = 0

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        self.longest = max(self.longest, self._slept)

    def _retired(self, player: Player) -> None:
        self._slept += 1
        until = time.perf_counter() + SLICE / 4
        while time.perf_counter() < until:
            pass
