"""Ids: sortable by time, never twice, never backwards."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troupe.actors.kernel import Ids, first_id_at
from troupe.actors.kernel.clock import NODES, milliseconds

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
    assert Ids(clock, node=NODES - 1).next() < 2**63


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
    many = [ids.next() for _ in range(2_500)]
    assert many == sorted(set(many))
    assert many[-1] >> 16 == milliseconds(NOON) + 2


def test_nodes_never_hand_out_the_same_id() -> None:
    sources = [Ids(HandClock(), node) for node in range(NODES)]
    ids = [source.next() for source in sources for _ in range(1_500)]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("node", [-1, NODES])
def test_there_are_64_nodes(node: int) -> None:
    with pytest.raises(ValueError, match="node must be 0 to 63"):
        Ids(HandClock(), node)


@pytest.mark.parametrize("node", [0, 1, NODES - 1])
@pytest.mark.parametrize("other", [0, 1, NODES - 1])
@pytest.mark.parametrize("behind", [0, 60_000])
def test_ids_are_above_those_that_the_source_has_heard_of(node: int, other: int, behind: int) -> None:
    """The clock may be behind that of another process, or of the process before this one."""
    clock = HandClock()
    source = Ids(clock, other)
    heard = [source.next() for _ in range(100)]
    clock.move(-behind)
    ids = Ids(clock, node)
    for id in (heard[-1], heard[0]):
        ids.witness(id)
    assert ids.next() > heard[-1]


@pytest.mark.parametrize("sequence", [0, 1, 2**10, 2**14 - 1])
@pytest.mark.parametrize("node", range(4))
def test_ids_of_earlier_versions_are_below_new_ones(node: int, sequence: int) -> None:
    """They had 2 bits of node and 14 of sequence."""
    earlier = (milliseconds(NOON) << 16) | (node << 14) | sequence
    ids = Ids(HandClock())
    ids.witness(earlier)
    assert ids.next() > earlier


def test_two_sources_that_hear_of_each_other_sort_by_time() -> None:
    """A source draws an id, the other hears of it and draws the next one, and so on, within one millisecond."""
    clock = HandClock()
    first, second = Ids(clock, 1), Ids(clock, 0)
    ids: list[int] = []
    for source, other in [(first, second), (second, first)] * 50:
        ids.append(source.next())
        other.witness(ids[-1])
    assert ids == sorted(set(ids))


def test_hearing_of_an_own_id_wastes_nothing() -> None:
    """Facts are applied where they were published, too: a process hears of its own ids all the time."""
    ids = Ids(HandClock())
    for _ in range(1_000):
        ids.witness(ids.next())
    assert ids.next() >> 16 == milliseconds(NOON)


def test_hearing_of_an_old_id_takes_nothing_back() -> None:
    ids = Ids(HandClock())
    first = ids.next()
    ids.witness(0)
    assert ids.next() > first


def test_the_first_id_of_an_instant_is_below_all_of_that_instant_and_above_those_before() -> None:
    clock = HandClock()
    ids = Ids(clock)
    before = ids.next()
    clock.move(1)
    assert before < first_id_at(clock.now()) <= ids.next()
