"""The shapes of messages that msgspec can't read back by their annotations alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ..storage.engine.json_values import JsonObject
from .facts.fact import FACTS, LearnFact
from .kernel.codec import Shape, Unreadable, of_row, to_row

T = TypeVar("T")


def _fact_fields(message: LearnFact) -> Mapping[str, object]:
    return {"of": type(message.fact).__name__, "with": to_row(message.fact)}


def _learn_fact(fields: JsonObject) -> LearnFact:
    if (kind := FACTS.get(fields.get("of", ""))) is None:
        raise Unreadable(f"LearnFact: there is no fact {fields.get('of')}")
    return LearnFact(of_row(kind, fields["with"]))


# `Any` is the class of the key: the type of a dict can't express that.
SHAPES: dict[type, Shape[Any]] = {LearnFact: Shape(JsonObject, _fact_fields, _learn_fact)}


def row_of(message: object) -> JsonObject:
    """Return the fields of a message as JSON values."""
    shape = SHAPES.get(type(message))
    return to_row(message if shape is None else shape.write(message))


def message_of(kind: type[T], row: JsonObject) -> T:
    """Return the message of the class `kind` that `row_of` has written as `row`. Raises Unreadable."""
    shape = SHAPES.get(kind)
    return of_row(kind, row) if shape is None else shape.read(row)
