"""Scenarios played with many seeds: found, shrunk, reported."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from itertools import count
from math import inf

import pytest
import trio
from hypothesis import given, settings, strategies

from troupe.supervision.testing import (
    Broken,
    Budget,
    DoesNotReplay,
    Fault,
    Planned,
    Point,
    Run,
    bare,
    never,
    simulation,
    sweep,
)
from troupe.supervision.testing.report import replay_command, report, story
from troupe.supervision.testing.series import Series
from troupe.supervision.testing.shrink import Shrinker

BOTH = ("random", "pct")


@pytest.fixture(autouse=True)
def _wanting_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Playing one seed of the whole suite again must not change the results of these tests."""
    for name in ("SEED", "STRATEGY", "SEEDS", "BASE"):
        monkeypatch.delenv(f"TROUPE_SIM_{name}", raising=False)
    monkeypatch.setenv("PYTHONHASHSEED", "0")  # else each failure is played again in another process


class Account:
    """The followers are read, and written after a wait: a lost update."""

    def __init__(self) -> None:
        self.followers = 0

    async def follow(self) -> None:
        before = self.followers
        await trio.lowlevel.checkpoint()
        self.followers = before + 1


async def two_follow_among_others(run: Run) -> None:
    account = Account()

    async def idle() -> None:
        for _ in range(20):
            await trio.lowlevel.checkpoint()

    async with run.together() as go:
        go(account.follow, name="ada")
        go(account.follow, name="bob")
        for name in ("cyd", "dan", "eve"):
            go(idle, name=name)
    if account.followers != 2:
        raise LookupError(f"{account.followers} counted")


def failing(scenario: Callable[[Run], Awaitable[None]]) -> str:
    """What pytest prints for a scenario that is decorated."""
    with pytest.raises(pytest.fail.Exception) as failed:
        simulation(seeds=100)(scenario)()
    return str(failed.value)


def test_a_failure_is_found_and_shrunk_to_what_it_needs() -> None:
    failure = Series(two_follow_among_others, bare).play_all(range(100), BOTH)
    assert failure is not None
    assert sum(1 for choice in failure.shrunk.choices if choice) <= 2
    assert sum(1 for choice in failure.first.choices if choice) > 10
    assert str(failure.shrunk.error) == "1 counted"


def test_faults_that_do_not_matter_are_dropped() -> None:
    async def careless(run: Run) -> None:
        for n in range(20):
            if run.faults.strikes(Fault.CRASH_AFTER, "one") and n > 3:
                raise LookupError("this one matters")
            run.faults.strikes(Fault.CRASH_AFTER, "another")
            await trio.lowlevel.checkpoint()

    failure = Series(careless, bare, Budget(8)).play_all(range(200), BOTH)
    assert failure is not None
    assert [point.place for point in failure.shrunk.struck] == ["one"]


async def two_bugs(run: Run) -> None:
    """Two bugs that both fail with an AssertionError; the one that needs two faults hides behind neither."""
    one, other = (run.faults.strikes(Fault.CRASH_AFTER, place) for place in ("one", "other"))
    await trio.lowlevel.checkpoint()
    assert not (one and other), f"both at {trio.current_time()}"
    assert not other, f"other at {trio.current_time()}"


def test_shrinking_stays_with_the_bug_that_was_found() -> None:
    series = Series(two_bugs, bare, Budget(2))
    both = Planned([Point(Fault.CRASH_AFTER, "one", 1), Point(Fault.CRASH_AFTER, "other", 1)])
    shrunk = Shrinker(
        lambda choices, faults: series.play(0, "calm", Planned(faults), choices), series.play(0, "calm", both)
    )
    assert str(shrunk.shrink().error).startswith("both at")


def test_the_same_claim_with_other_values_is_the_same_failure() -> None:
    async def scenario(run: Run) -> None:
        struck = [n for n in range(5) if run.faults.strikes(Fault.CRASH_AFTER, f"place {n}")]
        assert struck == [], f"struck: {struck} of {len(struck)}"

    failure = Series(scenario, bare, Budget(4)).play_all(range(200), BOTH)
    assert failure is not None
    assert len(failure.shrunk.struck) == 1


@pytest.mark.parametrize("wish", [KeyboardInterrupt, SystemExit, pytest.skip.Exception, pytest.exit.Exception])
@pytest.mark.parametrize("beside_others", [True, False])
def test_the_wish_to_stop_is_no_failure_of_the_scenario(wish: type[BaseException], beside_others: bool) -> None:
    async def scenario(run: Run) -> None:
        async def stop() -> None:
            raise wish("now")

        if not beside_others:
            await stop()
        async with run.together() as go:
            go(trio.sleep, 1)
            go(stop)

    with pytest.raises(wish):
        simulation(seeds=3)(scenario)()


def test_an_always_claim_may_be_stopped_too() -> None:
    async def scenario(run: Run) -> None:
        def interrupted() -> None:
            raise KeyboardInterrupt

        run.always(interrupted)
        await trio.sleep(1)

    with pytest.raises(KeyboardInterrupt):
        simulation(seeds=3)(scenario)()


def test_pinned_seeds_are_played_first_in_every_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []

    async def scenario(run: Run) -> None:
        seeds.append(run.seed)

    monkeypatch.setenv("TROUPE_SIM_SEEDS", "1")
    monkeypatch.setenv("TROUPE_SIM_BASE", "1600")
    simulation(pinned=[(7, "pct"), (3, "random")], strategies=("random",))(scenario)()
    assert seeds == [0, 7, 3, 1600, 1600]  # the calm run, which every plan needs, comes first


@pytest.mark.parametrize(("shown_at", "played"), [(0, 2), (5, 6)])
def test_more_seeds_are_played_until_everything_rare_was_seen(shown_at: int, played: int) -> None:
    seeds: list[int] = []

    async def scenario(run: Run) -> None:
        seeds.append(run.seed)
        run.sometimes(run.seed == shown_at, "it is shown")

    simulation(seeds=2, at_most=9, strategies=("random",))(scenario)()
    assert sorted({*seeds}) == list(range(played))


def test_what_is_not_even_seen_with_more_seeds_fails() -> None:
    async def scenario(run: Run) -> None:
        run.sometimes(run.seed > 4, "it is shown")

    with pytest.raises(pytest.fail.Exception, match="never happened in 10 runs: it is shown"):
        simulation(seeds=2, at_most=5)(scenario)()


def test_a_report_says_how_the_seed_is_kept() -> None:
    failure = Series(two_follow_among_others, bare).play_all(range(100), BOTH)
    assert failure is not None
    assert f'pinned=[({failure.first.seed}, "{failure.first.strategy}")]' in report(failure, "t")


def test_a_report_has_the_seed_the_command_and_the_shrunk_run() -> None:
    text = failing(two_follow_among_others)
    assert "fails: LookupError: 1 counted" in text
    assert "TROUPE_SIM_STRATEGY=" in text
    assert "test_a_report_has_the_seed_the_command_and_the_shrunk_run" in text
    assert "switches, 0 faults" in text
    assert "ada                       runs" in text
    assert "in two_follow_among_others" in text
    assert "/trio/" not in text


def test_a_report_names_the_arguments_of_the_test() -> None:
    @simulation(seeds=1)
    async def scenario(run: Run, count: int, name: str, fixture: object) -> None:
        raise LookupError(name * count)

    with pytest.raises(pytest.fail.Exception, match=r"arguments: count=2, name='ada'\n"):
        scenario(2, name="ada", fixture=object())


def test_a_report_shows_the_example_of_hypothesis() -> None:
    @settings(database=None, derandomize=True, deadline=None)
    @given(number=strategies.integers(0, 9))
    @simulation(seeds=1)
    async def scenario(run: Run, number: int) -> None:
        assert number < 5

    with pytest.raises(pytest.fail.Exception, match=r"arguments: number=5\n"):
        scenario()


def test_a_report_of_a_run_without_end_has_its_beginning_and_the_cycle_once() -> None:
    async def scenario(run: Run) -> None:
        closed = trio.Event()

        async def wait_for(other: str) -> None:
            while not closed.is_set():  # noqa: ASYNC110  # it is the bug
                await trio.sleep(1)

        async with run.together() as go:
            for number in range(120):
                go(trio.sleep, 0.01 * number, name=f"guest {number}")
            go(wait_for, "south", name="north")
            go(wait_for, "north", name="south")

    lines = report_of(scenario, step_limit=3000)
    told = [line.split(maxsplit=1)[1] for line in lines]
    assert told[0].startswith("scenario ")
    assert "guest 3                   runs" in told
    [again] = [n for n, line in enumerate(lines) if "again and again" in line]
    assert {line.split()[0] for line in told[again + 1 : again + 5]} == {"north", "south"}
    assert re.search(r"these 4 lines again and again, 6\d\d times", lines[again])
    assert again == 101, "after a hundred lines, and one that says how many are left out"
    assert "Livelock" in lines[-1]


def report_of(scenario: Callable[[Run], Awaitable[None]], *, step_limit: int) -> list[str]:
    """The story of the first failure."""
    failure = Series(scenario, bare, step_limit=step_limit).play_all([0], ["random"])
    assert failure is not None
    return story(failure.first)


@pytest.mark.parametrize(
    ("cancel", "told"),
    [
        ("its deadline", "sleeper is cancelled by a deadline"),
        ("another task", "sleeper is cancelled by closer: the shop closes"),
        ("a failure", "sleeper is cancelled because closer failed in the same nursery"),
        ("a claim", "sleeper is cancelled because the run has failed"),
    ],
)
def test_a_story_names_each_task_that_was_cancelled_and_by_what(cancel: str, told: str) -> None:
    async def scenario(run: Run) -> None:
        async def close() -> None:
            await trio.sleep(1)
            if cancel == "another task":
                scopes[0].cancel("the shop closes")
            elif cancel == "a failure":
                raise LookupError
            elif cancel == "a claim":
                run.always(lambda: False)

        async def wait() -> None:
            with trio.CancelScope(deadline=5 if cancel == "its deadline" else inf) as scope:
                scopes.append(scope)
                await trio.sleep_forever()

        scopes: list[trio.CancelScope] = []
        async with run.together() as go:
            go(wait, name="sleeper")
            go(close, name="closer")

    played = Series(scenario, bare).play(1, "random", never)
    lines = [f"{line.who} {line.what}" for line in played.trace if "cancelled" in line.what]
    assert [line for line in lines if not line.startswith("scenario")] == [told], "and not that closer slept"


def test_the_environment_plays_one_seed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    failure = Series(two_follow_among_others, bare).play_all(range(100), BOTH)
    assert failure is not None
    assert replay_command(failure.first, "tests/x.py::test").startswith(f"TROUPE_SIM_SEED={failure.first.seed} ")
    monkeypatch.setenv("TROUPE_SIM_SEED", str(failure.first.seed))
    monkeypatch.setenv("TROUPE_SIM_STRATEGY", failure.first.strategy)
    assert report(failure, "t").splitlines()[0] == failing(two_follow_among_others).splitlines()[0]


def test_the_environment_says_how_many_seeds_and_from_where(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []

    async def scenario(run: Run) -> None:
        seeds.append(run.seed)

    monkeypatch.setenv("TROUPE_SIM_SEEDS", "3")
    monkeypatch.setenv("TROUPE_SIM_BASE", "1600")
    simulation()(scenario)()
    # Two strategies; every sixteenth seed is played twice with the first of them.
    assert seeds[1:] == [1600] * 3 + [1601] * 2 + [1602] * 2


def test_a_scenario_that_takes_its_decisions_elsewhere_is_refused() -> None:
    plays = count()

    async def scenario(run: Run) -> None:
        run.note(f"play {next(plays)}")

    with pytest.raises(DoesNotReplay, match=r"line 1: .*play 1.* in one run, .*play 2"):
        Series(scenario, bare).play_all(range(5), BOTH)


def test_a_seed_that_fails_is_played_twice_too() -> None:
    plays = count()

    async def scenario(run: Run) -> None:
        run.note(f"play {(play := next(plays))}")
        assert play != 1

    with pytest.raises(DoesNotReplay, match="seed 1, strategy random"):
        Series(scenario, bare).play_all([1], ["random"])


def test_always_is_checked_after_every_step() -> None:
    async def scenario(run: Run) -> None:
        balance = 0
        run.always(lambda: balance >= 0, "the balance is never negative")

        async def add(amount: int) -> None:
            nonlocal balance
            await trio.lowlevel.checkpoint()
            balance += amount

        async with run.together() as go:
            go(add, 1, name="plus")
            go(add, -1, name="minus")

    failure = Series(scenario, bare).play_all(range(50), BOTH)
    assert failure is not None
    assert isinstance(failure.first.error, Broken)
    assert str(failure.first.error) == "not always true: the balance is never negative"


def test_eventually_waits_for_virtual_time_to_pass() -> None:
    async def scenario(run: Run) -> None:
        started = trio.current_time()
        run.eventually(lambda: trio.current_time() - started > 50)

    assert Series(scenario, bare).play_all(range(3), BOTH) is None


def test_eventually_has_an_end() -> None:
    async def scenario(run: Run) -> None:
        run.eventually(lambda: False, "the cows come home", within=5)

    failure = Series(scenario, bare).play_all(range(3), BOTH)
    assert failure is not None
    assert str(failure.first.error) == "not true within 5 s of the end: the cows come home"


def test_what_sometimes_happens_must_happen_in_some_run() -> None:
    async def scenario(run: Run) -> None:
        order: list[str] = []

        async def arrive(who: str) -> None:
            order.append(who)

        async with run.together() as go:
            go(arrive, "ada")
            go(arrive, "bob")
        run.sometimes(order[0] == "ada", "ada is first")
        run.sometimes(order[0] == "bob", "bob is first")
        run.sometimes(order[0] == "cyd", "cyd is first")

    assert failing(scenario) == "never happened in 200 runs: cyd is first"


def test_chance_inside_a_world_is_the_seeds() -> None:
    async def scenario(run: Run) -> None:
        run.note(str(run.random.random()))
        run.note(run.clock.now().isoformat())

    series = Series(scenario, bare)
    assert series.play_all(range(3), BOTH) is None
    traces = {seed: series.play_seed(seed, "random").trace for seed in (1, 2)}
    assert traces[1] != traces[2]


def test_a_sweep_makes_every_point_fail_once() -> None:
    struck: list[str] = []

    async def scenario(run: Run) -> None:
        for n in range(3):
            if run.faults.strikes(Fault.LOST, "write"):
                struck.append(f"write {n}")
            if run.faults.strikes(Fault.SLOW, "read"):
                struck.append(f"read {n}")

    sweep()(scenario)()
    assert sorted(struck) == ["read 0", "read 1", "read 2", "write 0", "write 1", "write 2"]


def test_a_sweep_plays_only_the_kinds_of_its_budget() -> None:
    plays = count(1)
    played: list[int] = []

    async def scenario(run: Run) -> None:
        played.append(next(plays))
        run.faults.strikes(Fault.LOST, "write")
        run.faults.strikes(Fault.SLOW, "read")

    sweep(faults=Budget(1, frozenset({Fault.LOST})))(scenario)()
    assert played == [1, 2, 3], "without faults, the same again, and with the one fault"


@pytest.mark.parametrize("loud", [True, False])
@simulation(seeds=2)
async def test_a_simulation_is_an_ordinary_test_with_fixtures(run: Run, loud: bool, tmp_path: object) -> None:
    run.sometimes(True, "it ran")
    assert tmp_path
    assert loud in (True, False)
