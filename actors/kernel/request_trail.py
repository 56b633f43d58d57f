"""The request trail: the latest turns, transactions and effects of the process, by the request that led to them.

Everything that a request leads to carries its id and the chain of messages in between (`Origin`). Each turn, each
transaction of a turn, each try of an effect and each answered request leaves an entry here, in one of two ring buffers.
Plain turns and reads are many and short, and a burst of them must not push out the entries of commands, so they have a
buffer of their own. An entry holds no contents: names, addresses, numbers and times. Without the trail a home page
would cost at most 4% less CPU, and a post no measurable amount less.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter
from typing import Literal, TypeAlias

from .message import Address

StepKind = Literal["request", "turn", "transaction", "effect"]
# The kind; begin and end by `perf_counter`; the name, or the class of the message; the place, mostly an address; the
# number of the message; the request and the causes, as in `Origin`; and the outcome. A tuple, because no other object
# is made faster.
Entry: TypeAlias = tuple[StepKind, float, float, type | str, object, int | None, str, tuple[str, ...], str]

# Entries that are kept. Each takes about 200 bytes, so both buffers together take at most some megabytes.
MOST_PLAIN = 8_192
MOST_LASTING = 8_192
SLICE = 2_000  # entries looked at between two checkpoints

DONE = ""
# `PublishStatus#57 at account/1103`, the last cause of an origin: the turn that sent the message.
CAUSE = re.compile(r"#(?P<id>\d+) at (?P<place>\S+)$")


@dataclass(slots=True)
class Step:
    """One entry, as operators see it, with the steps that it led to. Times are seconds."""

    what: StepKind  # a key of the JSON that operators get
    name: str
    where: str
    ago: float  # since it began
    seconds: float
    outcome: str  # empty: success
    request_id: str
    message_id: int | None
    causes: tuple[str, ...]
    steps: list[Step] = field(default_factory=list["Step"])


@dataclass(frozen=True, slots=True)
class RecentMessages:
    """The messages of one kind that an actor has handled lately. Times are seconds."""

    message: str
    count: int
    ago: float  # the latest
    mean: float  # of their turns
    longest: float
    failed: int


class RequestTrail:
    """The entries of a process."""

    def __init__(self) -> None:
        self._plain: deque[Entry] = deque(maxlen=MOST_PLAIN)
        self._lasting: deque[Entry] = deque(maxlen=MOST_LASTING)
        # Called for each plain turn and each read.
        self.note_plain = self._plain.append
        self.note = self._lasting.append

    def of_request(self, request_id: str) -> Generator[None, None, list[Step]]:
        """Return the steps of a request, each under the step that led to it. Pauses after each slice."""
        found: list[Entry] = []
        for entries in self._slices():
            found += [entry for entry in entries if entry[6] == request_id]
            yield
        now = perf_counter()
        return tree_of([step_of(entry, now) for entry in found])

    def of_actor(self, address: Address) -> list[RecentMessages]:
        """Return the kinds of messages that an actor has handled lately, the latest first."""
        turns: dict[str, list[Entry]] = {}
        for entries in (list(self._plain), list(self._lasting)):
            for entry in entries:
                if entry[0] == "turn" and entry[4] == address:
                    turns.setdefault(_name(entry[3]), []).append(entry)
        now = perf_counter()
        recent = [_recent(name, entries, now) for name, entries in turns.items()]
        return sorted(recent, key=lambda step: step.ago)

    def _slices(self) -> Iterable[list[Entry]]:
        rest = iter([*self._plain, *self._lasting])
        while some := list(islice(rest, SLICE)):
            yield some


def step_of(entry: Entry, now: float) -> Step:
    kind, began, ended, name, where, message_id, request_id, causes, outcome = entry
    return Step(kind, _name(name), str(where), now - began, ended - began, outcome, request_id, message_id, causes)


def tree_of(steps: Iterable[Step]) -> list[Step]:
    """Return the first steps in order. Each other step is in the `steps` of the step that led to it.

    A turn leads to its transactions, to the messages that it sends and to the effects that it promises. If that turn is
    no longer in the buffer, a step is under the request, or among the first steps.
    """
    in_order = sorted(steps, key=lambda step: -step.ago)
    turns = {(step.message_id, step.where): step for step in in_order if step.what == "turn"}
    request = next((step for step in in_order if step.what == "request"), None)
    first: list[Step] = []
    for step in in_order:
        leader = turns.get(_turn_before(step), request)
        (first if leader is None or leader is step else leader.steps).append(step)
    return first


def _turn_before(step: Step) -> tuple[int | None, str]:
    """Return the number of the message whose turn led to a step, and its address."""
    if step.what == "transaction":
        return step.message_id, step.where
    cause = CAUSE.search(step.causes[-1]) if step.causes else None
    return (int(cause["id"]), cause["place"]) if cause is not None else (None, "")


def _recent(name: str, entries: list[Entry], now: float) -> RecentMessages:
    times = [ended - began for _, began, ended, *_ in entries]
    latest = max(began for _, began, *_ in entries)
    failed = sum(bool(entry[8]) for entry in entries)
    return RecentMessages(name, len(entries), now - latest, sum(times) / len(times), max(times), failed)


def _name(name: type | str) -> str:
    return name if isinstance(name, str) else name.__name__
