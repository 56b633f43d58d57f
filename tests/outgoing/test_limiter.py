"""Places for requests: a few for each key, more in all, and none of them lost."""

from functools import partial

import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.federation.budgets import DomainLimiter
from troupe.actors.outgoing.limiter import RequestLimiter
from troupe.supervision.testing import Run, bare, simulation


async def hold(limiter: RequestLimiter, key: str, running: list[str], end: trio.Event) -> None:
    async with limiter.place(key):
        running.append(key)
        await end.wait()


async def test_a_key_has_a_few_places_and_leaves_others_theirs(nursery: trio.Nursery) -> None:
    limiter, running, end = RequestLimiter(of_each=2, all=3), list[str](), trio.Event()
    for key in ["slow"] * 4 + ["other"] * 2:
        nursery.start_soon(hold, limiter, key, running, end)
        await wait_all_tasks_blocked()
    assert running == ["slow", "slow", "other"]
    assert (limiter.count("slow"), limiter.count("other"), limiter.count("third"), len(limiter)) == (4, 2, 0, 2)
    end.set()
    await wait_all_tasks_blocked()
    assert len(running) == 6
    assert len(limiter) == 0, "keys without requests are forgotten"


async def test_hosts_of_one_domain_share_their_places(nursery: trio.Nursery) -> None:
    limiter, running, end = DomainLimiter(all=3, of_one_domain=1), list[str](), trio.Event()
    for host in ("one.peer.test", "two.peer.test", "other.test"):
        nursery.start_soon(hold, limiter, host, running, end)
        await wait_all_tasks_blocked()
    assert running == ["one.peer.test", "other.test"]
    assert limiter.count("peer.test") == limiter.count("three.peer.test") == 2
    end.set()


@simulation(seeds=50, world=bare)
async def test_in_any_order_no_place_is_lost_or_given_twice(sim: Run) -> None:
    limiter = RequestLimiter(of_each=2, all=3)
    running = dict.fromkeys("abc", 0)

    async def request(key: str, patience: float) -> None:
        with trio.move_on_after(patience):
            async with limiter.place(key):
                running[key] += 1
                sim.sometimes(sum(running.values()) == 3, "all places are taken")
                sim.sometimes(running[key] == 2, "all places of a key are taken")
                try:
                    await trio.sleep(1)
                finally:
                    running[key] -= 1

    sim.always(lambda: max(running.values()) <= 2 and sum(running.values()) <= 3)
    async with sim.together() as go:
        for number in range(9):
            go(partial(request, sim.random.choice("aabc"), sim.random.choice([0.5, 1.5, 9.0])), name=f"request{number}")
    assert len(limiter) == 0
    free, end = list[str](), trio.Event()
    async with sim.together() as go:
        for key in "aabbcc":
            go(hold, limiter, key, free, end)
        await sim.quiet()
        assert len(free) == 3, "all places are free again"
        end.set()
