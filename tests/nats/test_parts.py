"""Datagrams in parts: put together in any order, within bounds of memory and of time."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from troupe.actors.cluster.nats.parts import (
    LARGEST_DATAGRAM,
    MOST_WAITING,
    PATIENCE,
    SMALLEST_PAYLOAD,
    PartAssembly,
    split,
)
from troupe.actors.cluster.nats.protocol import LARGEST_PAYLOAD

Part = tuple[bytes, bytes]


def parts_of(datagram: bytes, number: int = 1, max_payload: int = SMALLEST_PAYLOAD) -> list[Part]:
    return [(headers, bytes(payload)) for headers, payload in split(datagram, number, max_payload)]


def part(number: int, start: int, length: int, payload: bytes = b"x") -> Part:
    return b"NATS/1.0\r\nTroupe-Part: %d/%d/%d\r\n\r\n" % (number, start, length), payload


def add_all(assembly: PartAssembly, parts: list[Part], sender: str = "n2", now: float = 0) -> list[bytes | None]:
    return [assembly.add(sender, headers, payload, now) for headers, payload in parts]


@given(st.data(), st.binary(min_size=1, max_size=5000), st.integers(SMALLEST_PAYLOAD, 2000), st.integers(0, 2**33))
@settings(max_examples=100, deadline=None)
def test_parts_arrive_in_any_order_and_some_twice(data: st.DataObject, datagram: bytes, size: int, number: int) -> None:
    parts = parts_of(datagram, number, size)
    assert all(len(headers) + len(payload) <= size for headers, payload in parts)
    repeated = data.draw(st.permutations(parts + parts[:-1]))
    seen = set[Part]()
    results: list[bytes | None] = []
    assembly = PartAssembly()
    for one in repeated:
        seen.add(one)
        results += add_all(assembly, [one])
        if len(seen) == len(parts):
            break
    assert results == [None] * (len(results) - 1) + [datagram]


def test_parts_of_several_senders_and_datagrams_do_not_mix() -> None:
    assembly = PartAssembly()
    first, second = parts_of(b"a" * 2000), parts_of(b"b" * 2000)
    assert add_all(assembly, first[:1], "n2") + add_all(assembly, second[:1], "n3") == [None, None]
    assert add_all(assembly, second[1:], "n3")[-1] == b"b" * 2000
    assert add_all(assembly, first[1:], "n2")[-1] == b"a" * 2000


def test_a_part_is_never_larger_than_what_is_read() -> None:
    parts = parts_of(bytes(3 * LARGEST_PAYLOAD), max_payload=1 << 26)
    assert max(len(headers) + len(payload) for headers, payload in parts) <= LARGEST_PAYLOAD


def test_a_datagram_is_dropped_when_its_last_part_is_late() -> None:
    assembly = PartAssembly()
    parts = parts_of(b"a" * 1500)
    assert len(parts) == 2
    add_all(assembly, parts[:1], now=0)
    assert add_all(assembly, parts[1:], now=PATIENCE) == [None]
    assert add_all(assembly, parts[:1], now=PATIENCE) == [b"a" * 1500]


def test_the_oldest_datagrams_are_dropped_when_too_many_are_incomplete() -> None:
    assembly = PartAssembly()
    payload = bytes(1 << 20)
    length = len(payload) + 1
    for number in range(MOST_WAITING // len(payload)):
        add_all(assembly, [part(number, 0, length, payload)])
    last = b"!"
    assert add_all(assembly, [part(0, length - 1, length, last)]) == [None]
    assert add_all(assembly, [part(2, length - 1, length, last)]) == [payload + last]


def test_parts_of_a_byte_are_counted_with_what_they_take() -> None:
    assembly = PartAssembly()
    small = part(1, 0, LARGEST_DATAGRAM, bytes(1))
    add_all(assembly, [small])
    for start in range(1, MOST_WAITING // 200):
        add_all(assembly, [part(2, start, LARGEST_DATAGRAM, bytes(1))])
    complete = part(1, 1, LARGEST_DATAGRAM, bytes(LARGEST_DATAGRAM - 1))
    assert add_all(assembly, [complete]) == [None]


@pytest.mark.parametrize(
    "parts",
    [
        [(b"NATS/1.0\r\nOther: 1/0/1\r\n\r\n", b"x")],
        [(b"NATS/1.0 503\r\n\r\n", b"")],
        [(b"NATS/1.0\r\nTroupe-Part: 1/0\r\n\r\n", b"x")],
        [(b"NATS/1.0\r\nTroupe-Part: 1/0/1/1\r\n\r\n", b"x")],
        [(b"NATS/1.0\r\nTroupe-Part: 1/-1/1\r\n\r\n", b"x")],
        [(b"NATS/1.0\r\nTroupe-Part: 1/0/1\r\n", b"x")],
        [(b"NATS/1.0\r\nTroupe-Part: %b/0/1\r\n\r\n" % (b"1" * 5000), b"x")],
        [part(1, 0, 0, b"")],
        [part(1, 0, 1, b"")],
        [part(1, 0, 1, b"xx")],
        [part(1, 2, 1)],
        [part(1, 0, LARGEST_DATAGRAM + 1)],
        [part(1, 0, 2), part(1, 0, 2), part(1, 1, 3)],
        [part(1, 0, 4, b"xx"), part(1, 1, 4, b"xx")],
        [part(1, 1, 4, b"xx"), part(1, 2, 4, b"xx")],
    ],
)
def test_hostile_parts_make_no_datagram(parts: list[Part]) -> None:
    assert set(add_all(PartAssembly(), parts)) == {None}
