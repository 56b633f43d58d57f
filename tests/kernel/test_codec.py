"""The codec: names, unions of answers, refusals, other versions' fields, and bytes that nobody wrote."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from troupe.actors.kernel import Message, Refused
from troupe.actors.kernel.codec import Codec, Shape, Unreadable, of_row, to_row
from troupe.actors.kernel.message import Control

from .acting import Said

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A record."""

    id: int
    at: datetime = NOON


@dataclass(frozen=True, slots=True)
class Branch:
    """A record with everything that the bytes of a leaf have."""

    id: int
    at: datetime = NOON
    leaves: dict[int, frozenset[str]] = field(default_factory=dict[int, frozenset[str]])


@dataclass(frozen=True, slots=True)
class Grow(Message[Leaf | Branch]):
    """Answered with one of two records."""

    secret: bytes
    leaf: Leaf | None = None


@dataclass(frozen=True, slots=True)
class Count(Message[dict[int, Leaf]]):
    """Answered with no record of its own."""


@dataclass(frozen=True, slots=True)
class Mixed(Message[Leaf | Branch | int]):
    """Answered with too much."""


@dataclass(frozen=True, slots=True)
class Either:
    """A record that msgspec can't read."""

    one: Leaf | Branch


@pytest.fixture
def codec() -> Codec:
    codec = Codec()
    codec.add_message(Grow)
    codec.add_message(Count)
    return codec


def test_a_message_comes_back_equal_and_of_its_class(codec: Codec) -> None:
    message = Grow(b"\0\xff", Leaf(7))
    read = codec.decode(codec.encode(message))
    assert (type(read), read) == (Grow, message)


@pytest.mark.parametrize("answer", [Leaf(1), Branch(1, NOON, {2: frozenset({"a"})}), Refused(404, "no")])
def test_one_of_several_answers_comes_back_as_what_it_was(codec: Codec, answer: Any) -> None:
    read = codec.decode_answer(Grow, codec.encode_answer(Grow, answer))
    assert (type(read), read) == (type(answer), answer)


@pytest.mark.parametrize("answer", [{}, {2**62: Leaf(1)}, Refused(422, "no", {"text": [{"error": "ERR_BLANK"}]})])
def test_an_answer_without_a_class_is_read_by_its_message(codec: Codec, answer: Any) -> None:
    assert codec.decode_answer(Count, codec.encode_answer(Count, answer)) == answer


def test_refusals_are_equal_if_a_client_is_told_the_same() -> None:
    assert Refused(404, "no") == Refused(404, "no")
    assert len({Refused(404, "no"), Refused(404, "no"), Refused(410, "no")}) == 2
    assert Refused(422, "no") != Refused(422, "no", {"text": []})


def test_an_answer_of_another_message_is_not_taken(codec: Codec) -> None:
    with pytest.raises(Unreadable, match="Count is not answered with Branch"):
        codec.decode_answer(Count, codec.encode_answer(Grow, Branch(1)))


def test_fields_of_a_later_version_are_ignored_and_missing_ones_get_their_defaults(codec: Codec) -> None:
    data = msgspec.msgpack.encode(("Grow", {"secret": b"a", "of a later version": 1}))
    assert codec.decode(data) == Grow(b"a")
    assert of_row(Leaf, {"id": 1, "of a later version": 1}) == Leaf(1)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\xc1", b"hello", msgspec.msgpack.encode(7), msgspec.msgpack.encode(("Nothing", {})),
        msgspec.msgpack.encode((None, {})), msgspec.msgpack.encode(("Grow", {})),
        msgspec.msgpack.encode(("Grow", {"secret": 7})), b"\x92\xa1\x80\x80",
        b"\x92\xa4Grow" + b"\x91" * 100_000 + b"\x90",
    ],
)  # fmt: skip
def test_bytes_of_which_nothing_can_be_made_are_refused(codec: Codec, data: bytes) -> None:
    with pytest.raises(Unreadable):
        codec.decode(data)


def test_a_row_of_which_nothing_can_be_made_is_refused() -> None:
    with pytest.raises(Unreadable, match="Leaf"):
        of_row(Leaf, {"id": "seven"})


def test_a_row_holds_values_of_json() -> None:
    branch = Branch(1, NOON, {2: frozenset({"a"})})
    assert to_row(branch) == {"id": 1, "at": "2026-11-22T12:00:00Z", "leaves": {"2": ["a"]}}
    assert of_row(Branch, to_row(branch)) == branch


def test_two_classes_cannot_have_one_name(codec: Codec) -> None:
    codec.add(Leaf)
    with pytest.raises(TypeError, match="with the name Leaf"):
        codec.add(Branch, name="Leaf")


def test_several_records_and_something_else_cannot_be_told_apart(codec: Codec) -> None:
    with pytest.raises(TypeError, match="Mixed is answered with several"):
        codec.add_message(Mixed)


def test_a_class_with_a_shape_is_written_as_that(codec: Codec) -> None:
    def write(either: Either) -> dict[str, Any]:
        return {"leaf": isinstance(either.one, Leaf), "one": to_row(either.one)}

    def read(row: dict[str, Any]) -> Either:
        return Either(of_row(Leaf if row["leaf"] else Branch, row["one"]))

    codec.add(Either, shape=Shape(dict[str, Any], write, read))
    for either in (Either(Leaf(1)), Either(Branch(1))):
        assert codec.decode(codec.encode(either)) == either


def test_an_event_is_read_without_what_was_rendered_of_it(codec: Codec) -> None:
    codec.add(Said)
    event = Said("hello")
    event.rendered["sse"] = b"data: hello"
    read = codec.decode(codec.encode(event))
    assert isinstance(read, Said)
    assert (read, read.rendered) == (event, {})


def test_what_stays_in_the_process_is_no_message() -> None:
    assert not issubclass(Control, Message)
