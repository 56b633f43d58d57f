"""Everything that actors tell each other can be written and read back equal, whatever a field may hold."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import orjson
import pytest

from troupe.actors.broadcast.events import StatusEvent
from troupe.actors.codec import CODEC
from troupe.actors.facts.fact import FACTS, Fact, StoredFact
from troupe.actors.kernel import Command, Event, Message, Refused, SystemCommand, SystemMessage
from troupe.actors.kernel.codec import answer_of, of_row, to_row
from troupe.actors.promises import Effect
from troupe.http.streaming.frames import StreamGap, StreamResumed

from ..accept import ADVICE
from .imports import MODULES, name_of

T = TypeVar("T")

INSTANCES = 30  # of each class
TEXTS = ("", "a", "\0", "ü𝄞\u200d", '{"a":1}', "2026-11-22T12:00:00Z")
ZONES = (UTC, timezone(timedelta(hours=5, minutes=45)), timezone(timedelta(hours=-9)))
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

DEEPEST = 6  # objects inside of each other, above which optional fields are empty
# Other versions of the server know these names. The list may only become longer.
NAMES = (Path(__file__).parent / "codec_names.txt").read_text("utf-8").split()


class Maker:
    """Makes values of any type by its annotations, the same ones in each run."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)
        self._depth = 0

    def make(self, kind: Any) -> Any:
        origin, members = get_origin(kind), get_args(kind)
        if kind in LEAVES:
            return LEAVES[kind](self._random)
        if kind in (Any, object):
            return self.make(self._random.choice((None, bool, int, float, str, list[int], dict[str, str])))
        if origin in (Union, UnionType):
            # A class with two optional fields of its own kind would have no end.
            deep = self._depth > DEEPEST and NoneType in members
            return self.make(NoneType if deep else self._random.choice(members))
        if origin is Literal:
            return self._random.choice(members)
        if origin is tuple and members[-1] is not Ellipsis:
            return tuple(self.make(member) for member in members)
        if origin in (dict, Mapping, *COLLECTIONS) or (origin is not None and issubclass(origin, Mapping)):
            return self._collection(origin, members)
        if kind is Fact:
            return self.make(self._random.choice([*FACTS.values()]))
        assert is_dataclass(kind), f"a field of type {kind} can't be made, and perhaps not be written"
        assert isinstance(kind, type)
        hints = hints_of(kind)
        self._depth += 1
        made = kind(**{one.name: self.make(hints[one.name]) for one in fields(kind) if one.init})
        self._depth -= 1
        return made

    def _collection(self, origin: Any, members: tuple[Any, ...]) -> Any:
        count = self._random.randrange(3)
        if origin in COLLECTIONS:
            return COLLECTIONS[origin]([self.make(members[0]) for _ in range(count)])
        return {self.make(members[0]): self.make(members[1]) for _ in range(count)}


@cache
def hints_of(kind: type) -> dict[str, Any]:
    """The types of the fields of a class."""
    return get_type_hints(kind)


LEAVES: dict[Any, Callable[[Random], Any]] = {
    None: lambda random: None,
    NoneType: lambda random: None,
    bool: lambda random: random.random() < 0.5,
    int: lambda random: random.choice((0, -1, 2**63 - 1, -(2**63), random.getrandbits(60))),
    float: lambda random: random.choice((0.0, -0.5, random.random())),
    str: lambda random: random.choice(TEXTS),
    bytes: lambda random: random.randbytes(random.choice((0, 32))),
    datetime: lambda random: (EPOCH + timedelta(microseconds=random.getrandbits(52))).astimezone(random.choice(ZONES)),
    Refused: lambda random: Refused(422, random.choice(TEXTS), random.choice((None, {"text": [{"error": "ERR"}]}))),
}
COLLECTIONS: dict[Any, Callable[[list[Any]], Any]] = {
    Sequence: list,
    tuple: tuple,
    list: list,
    set: set,
    frozenset: frozenset,
}

CLASSES = dict(CODEC)
MESSAGES: dict[str, type[Message[Any]]] = {name: kind for name, kind in CLASSES.items() if issubclass(kind, Message)}


def derived(base: type[T]) -> Iterator[type[T]]:
    """The classes of the server that are derived from one; `slots=True` leaves a second class behind for a while."""
    for kind in base.__subclasses__():
        yield from derived(kind)
        if kind.__module__.startswith("troupe.") and vars(sys.modules[kind.__module__]).get(kind.__name__) is kind:
            yield kind


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_an_instance_is_read_back_equal(name: str) -> None:
    maker = Maker(name)
    for _ in range(INSTANCES):
        value = maker.make(CLASSES[name])
        read = CODEC.decode(CODEC.encode(value))
        assert (type(read), read) == (type(value), value)


@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_an_answer_is_read_back_equal(name: str) -> None:
    message, maker = MESSAGES[name], Maker(name)
    for _ in range(INSTANCES):
        answer = maker.make(answer_of(message))
        read = CODEC.decode_answer(message, CODEC.encode_answer(message, answer))
        assert (type(read), read) == (type(answer), answer)
    refusal = maker.make(Refused)
    assert CODEC.decode_answer(message, CODEC.encode_answer(message, refusal)) == refusal


@pytest.mark.parametrize("name", sorted(MESSAGES.keys() - {"LearnFact"}))  # its row does not name the fact's class
def test_a_message_is_read_back_equal_from_a_column_of_json(name: str) -> None:
    """As dead letters are stored."""
    maker = Maker(name)
    for _ in range(INSTANCES):
        message = maker.make(MESSAGES[name])
        assert of_row(MESSAGES[name], orjson.loads(orjson.dumps(to_row(message)))) == message


# Events of one connection, which no actor tells.
OF_SESSIONS = {StreamGap, StreamResumed}
# Classes that only have derived classes.
BASES = {StatusEvent, StoredFact, Command, SystemCommand, SystemMessage}


@pytest.mark.parametrize("base", [Message, Event, Effect, Fact])
def test_every_class_is_registered(base: type) -> None:
    for path in MODULES:
        import_module(f"troupe.{name_of(path)}")
    assert {*derived(base)} - {*CLASSES.values(), *BASES, *OF_SESSIONS} == set()


def test_no_name_is_lost_and_each_is_listed() -> None:
    assert {*NAMES} - CLASSES.keys() == set()
    assert CLASSES.keys() - {*NAMES} == set(), ADVICE
