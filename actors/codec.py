"""The codec of all values that actors send each other or store.

Messages are found by the turns that take them, and their answers by the messages. Every registered class must survive
the way into bytes and back: `tests/architecture/test_codec.py` tries it with all of them. In simulation every message
and every answer travels as bytes, for a quarter of the seeds. Effects and parked messages are stored as rows of their
fields, so that an operator can read the message that crashed an actor, and a program can make it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..storage.engine.json_values import JsonObject
from . import commands
from .account import AccountActor
from .broadcast.events import EVENTS
from .effects.registry import NAMES
from .facts.fact import FACTS
from .kernel import Actor
from .kernel.codec import Codec, Shape, of_row, to_row
from .message_shapes import SHAPES
from .timelines.home import HomeTimeline
from .timelines.list import ListTimeline
from .timelines.missed import Missed, MissedEvent, MissedEvents
from .timelines.public import PublicTimeline
from .timelines.tag import TagTimeline

__all__ = ["CODEC", "commands"]  # importing `commands` registers the turns of accounts and lists

ACTORS: tuple[type[Actor], ...] = (AccountActor, HomeTimeline, ListTimeline, PublicTimeline, TagTimeline)


STREAMED = {kind.__name__: kind for kind in EVENTS}


def _missed_fields(missed: Missed) -> Mapping[str, object]:
    events = [
        {"key": entry.key, "position": entry.position, "of": type(entry.event).__name__, "with": to_row(entry.event)}
        for entry in missed.events
    ]
    return {
        "position": missed.position, "newest": missed.newest, "published": missed.published,
        "unlogged": sorted(missed.unlogged), "complete": missed.complete, "events": events,
    }  # fmt: skip


def _missed(fields: JsonObject) -> Missed:
    events = [
        MissedEvent(row["key"], row["position"], of_row(STREAMED[row["of"]], row["with"])) for row in fields["events"]
    ]
    unlogged = frozenset[int](fields["unlogged"])
    return Missed(
        fields["position"], fields["newest"], fields["published"], unlogged, tuple(events), fields["complete"]
    )  # fmt: skip


# By the class of the message. `Any` is the class of its answer: the type of a dict can't express that.
ANSWER_SHAPES: dict[type, Shape[Any]] = {MissedEvents: Shape(JsonObject, _missed_fields, _missed)}


def _codec() -> Codec:
    codec = Codec()
    for actor in ACTORS:
        for message in actor.turns:
            codec.add_message(message, SHAPES.get(message), ANSWER_SHAPES.get(message))
    for payload, name in NAMES.items():
        # In bytes and in rows an effect has the same form, which later versions of the server still read.
        codec.add(payload, name=name, shape=Shape(JsonObject, payload.as_row, payload.of_row))
    for fact in FACTS.values():
        codec.add(fact)
    for event in EVENTS:
        codec.add(event)
    return codec


CODEC = _codec()
