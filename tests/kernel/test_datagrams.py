"""Datagrams between processes, of any content: `actors/cluster/wire.py`."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from troupe.actors.broadcast.publications import Progress
from troupe.actors.cluster.wire import (
    LARGEST_COUNTS,
    Acknowledgement,
    Body,
    Bundle,
    Counts,
    Farewell,
    NodeDatagram,
    PeerPoll,
    PollAnswer,
    Sent,
    SentAnswer,
    SentCommand,
    SentError,
    Withdrawal,
    decode,
    encode,
)
from troupe.actors.kernel import Origin
from troupe.actors.kernel.codec import Unreadable

SENT = Sent.by(Origin("r1", ("GET /", "Follow#7 at account/103"), "t1"))
PROGRESS = Progress(7, 3, (4, 5))
BODIES: list[Body] = [
    SentCommand(1, "account/103", b"message", SENT, 9.5, ("account/104",), answered=False),
    SentAnswer(1, b"answer"),
    SentError(1, "Busy", "the mailbox is full"),
    Withdrawal(1),
    Counts("", {"address": {1795262700: {"192.0.2.7": 12}}}),
    Bundle(1, [b"one", b"two"], SENT, 3, PROGRESS),
    Acknowledgement(2),
    Farewell(2, PROGRESS),
    PeerPoll(1.5),
    PollAnswer(1.5, 7, admits=True, progress=PROGRESS),
]


def is_read(data: bytes) -> bool:
    try:
        decode(data)
    except Unreadable:
        return False
    return True


@pytest.mark.parametrize("body", BODIES)
def test_a_datagram_is_read_as_it_was_written(body: Body) -> None:
    datagram = NodeDatagram(3, 4, 115_000_000_000_000_001, body)
    assert decode(encode(datagram)) == datagram
    assert SENT.origin == Origin("r1", ("GET /", "Follow#7 at account/103"), "t1")


@pytest.mark.parametrize("body", BODIES)
def test_a_part_of_a_datagram_is_unreadable(body: Body) -> None:
    data = encode(NodeDatagram(3, 4, 5, body))
    assert not any(is_read(data[:length]) for length in range(len(data)))
    assert not is_read(data + b"\x00")


@settings(max_examples=300)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_datagram_or_unreadable(data: bytes) -> None:
    is_read(data)


@settings(max_examples=300)
@given(st.sampled_from(BODIES), st.data())
def test_a_datagram_with_wrong_bytes_is_a_datagram_or_unreadable(body: Body, data: st.DataObject) -> None:
    written = bytearray(encode(NodeDatagram(3, 4, 5, body)))
    for place in data.draw(st.lists(st.integers(0, len(written) - 1), min_size=1, max_size=4)):
        written[place] = data.draw(st.integers(0, 255))
    is_read(bytes(written))


@pytest.mark.parametrize("opening", [b"\x91", b"\x81\xa1a"])
def test_a_deep_field_is_unreadable(opening: bytes) -> None:
    assert not is_read(opening * 100_000)
    acknowledgement = b"\x94\x01\x01\x01\x83\xa4type\xa3ack\xa7through\x02\xa7unknown"
    assert is_read(acknowledgement + b"\x90")
    assert not is_read(acknowledgement + opening * 100_000 + b"\x90")


def test_a_large_datagram_is_read() -> None:
    large = NodeDatagram(1, 2, 3, Bundle(1, [b"x" * 1_000_000] * 10, SENT, 0, PROGRESS))
    assert decode(encode(large)) == large


def test_counts_in_a_large_datagram_are_unreadable() -> None:
    """A million of them would keep the event loop for 200 ms. Nodes tell a thousand at most."""
    counts = {f"192.0.2.{number}": 1 for number in range(LARGEST_COUNTS // 10)}
    assert not is_read(encode(NodeDatagram(1, 2, 3, Counts("", {"address": {1795262700: counts}}))))


# Another version of the server


def raw(body: Body) -> dict[str, object]:
    fields: dict[str, object] = msgspec.to_builtins(body, builtin_types=(bytes,))
    return fields


@pytest.mark.parametrize("body", BODIES)
def test_fields_of_a_later_version_are_ignored(body: Body) -> None:
    written = msgspec.msgpack.encode([3, 4, 5, raw(body) | {"of a later version": [1, {"a": None}]}, "and here"])
    assert decode(written) == NodeDatagram(3, 4, 5, body)


def test_fields_of_a_later_version_are_ignored_in_an_origin() -> None:
    command = raw(BODIES[0]) | {"sent": ["r1", ["GET /"], "t1", "of a later version"]}
    body = decode(msgspec.msgpack.encode([3, 4, 5, command])).body
    assert isinstance(body, SentCommand)
    assert body.sent == Sent("r1", ("GET /",), "t1")


def test_a_command_of_an_earlier_version_has_the_defaults() -> None:
    command = {key: value for key, value in raw(BODIES[0]).items() if key not in ("waiting", "answered")}
    body = decode(msgspec.msgpack.encode([3, 4, 5, command])).body
    assert isinstance(body, SentCommand)
    assert (body.waiting, body.answered) == ((), True)


@pytest.mark.parametrize("body", [{"type": "greeting"}, {"type": "ack"}, {"through": 1}, [], None, 7])
def test_a_body_of_another_kind_is_unreadable(body: object) -> None:
    assert not is_read(msgspec.msgpack.encode([3, 4, 5, body]))
