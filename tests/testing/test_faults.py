from __future__ import annotations

import pytest

from troupe.supervision.testing import Budget, Fault, Faults, Injected, Planned, Point, never
from troupe.supervision.testing.faults import Chance, Plan


class PublishStatus:
    pass


def noting(plan: Plan) -> tuple[Faults, list[str]]:
    notes: list[str] = []
    return Faults(plan, lambda what, who: notes.append(f"{who} {what}")), notes


def strikes(plan: Plan, times: int = 100) -> list[int]:
    """At which times of passing a point it fails."""
    faults, _ = noting(plan)
    return [n for n in range(1, times + 1) if faults.strikes(Fault.LOST, "publish")]


def test_chance_spends_its_budget_and_no_more() -> None:
    spent = [len(strikes(Chance(seed, Budget(3), points=100))) for seed in range(50)]
    assert max(spent) == 3
    assert min(spent) < 3


def test_chance_is_the_seeds() -> None:
    assert strikes(Chance(1, Budget(3), 100)) == strikes(Chance(1, Budget(3), 100))
    assert len({tuple(strikes(Chance(seed, Budget(3), 100))) for seed in range(20)}) > 10


def test_chance_strikes_late_points_as_well_as_early_ones() -> None:
    first = [strikes(Chance(seed, Budget(1), 100))[:1] for seed in range(300)]
    assert sum(1 for hit in first if hit and hit[0] > 50) > 50


def test_a_budget_of_some_kinds_spares_the_others() -> None:
    assert strikes(Chance(1, Budget(3, frozenset({Fault.SLOW})), 3)) == []


def test_a_plan_strikes_where_it_says() -> None:
    assert strikes(Planned([Point(Fault.LOST, "publish", 7), Point(Fault.LOST, "follow", 2)])) == [7]


def test_every_turn_is_noted_and_its_points_are_counted() -> None:
    faults, notes = noting(never)
    for _ in range(2):
        faults.turn("account/1", PublishStatus(), "before")
        faults.turn("account/1", PublishStatus(), "after")
    assert notes == ["account/1 handles PublishStatus"] * 2
    assert [point.nth for point in faults.passed] == [1, 1, 2, 2]
    assert not faults.struck


def test_an_actor_crashes_on_the_turn_that_the_plan_names() -> None:
    point = Point(Fault.CRASH_AFTER, "account/1 PublishStatus", 2)
    faults, notes = noting(Planned([point]))
    for _ in range(2):
        faults.turn("account/1", PublishStatus(), "before")
        if len(notes) < 2:
            faults.turn("account/1", PublishStatus(), "after")
    with pytest.raises(Injected):
        faults.turn("account/1", PublishStatus(), "after")
    assert faults.struck == [point]
    assert notes[-1] == "account/1 PublishStatus FAULT: crashes after its turn"
