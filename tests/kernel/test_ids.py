"""Ids: sortable by time, never twice, never backwards."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troupe.actors.kernel import Ids, first_id_at
from troupe.actors.kernel.ids import LANES, milliseconds

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class HandClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.instant = NOON

    def now(self) -> datetime:
        return self.instant

    def move(self, milliseconds: float) -> None:
        self.instant += timedelta(milliseconds=milliseconds)


def test_an_id_holds_its_millisecond_in_the_upper_48_bits() -> None:
    assert Ids(HandClock()).next() >> 16 == milliseconds(NOON)


def test_ids_fit_a_signed_64_bit_column() -> None:
    clock = HandClock()
    clock.instant = datetime(3000, 1, 1, tzinfo=UTC)
    assert Ids(clock, lane=3).next() < 2**63


@given(st.lists(st.floats(-5_000, 5_000), max_size=50))
def test_ids_only_grow_wherever_the_clock_goes(moves: list[float]) -> None:
    clock = HandClock()
    ids = Ids(clock)
    seen: list[int] = []
    for move in moves:
        clock.move(move)
        seen += [ids.next(), ids.next()]
    assert seen == sorted(set(seen))


def test_more_ids_than_a_millisecond_holds_run_into_the_next() -> None:
    ids = Ids(HandClock())
    many = [ids.next() for _ in range(40_000)]
    assert many == sorted(set(many))
    assert many[-1] >> 16 == milliseconds(NOON) + 2


def test_lanes_never_hand_out_the_same_id() -> None:
    sources = [Ids(HandClock(), lane) for lane in range(LANES)]
    ids = [source.next() for source in sources for _ in range(20_000)]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("lane", [-1, LANES])
def test_there_are_four_lanes(lane: int) -> None:
    with pytest.raises(ValueError, match="lane must be 0 to 3"):
        Ids(HandClock(), lane)


def test_a_source_can_start_above_the_highest_id_in_use() -> None:
    """The clock may be behind that of the process before this one."""
    clock = HandClock()
    before = Ids(clock, lane=3)
    highest = [before.next() for _ in range(100)][-1]
    clock.move(-60_000)
    ids = Ids(clock)
    ids.start_above(highest)
    assert ids.next() > highest


def test_starting_above_an_old_id_takes_nothing_back() -> None:
    ids = Ids(HandClock())
    first = ids.next()
    ids.start_above(0)
    assert ids.next() > first


def test_the_first_id_of_an_instant_is_below_all_of_that_instant_and_above_those_before() -> None:
    clock = HandClock()
    ids = Ids(clock)
    before = ids.next()
    clock.move(1)
    assert before < first_id_at(clock.now()) <= ids.next()
