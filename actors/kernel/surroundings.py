"""What all pools share, and the messages that the runtime itself sends to actors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from .address import Address
from .envelope import Envelope
from .feed import Subscriber
from .message import Message


class Record(Protocol):
    """Where supervision decisions are written: an event of the log's vocabulary and its facts."""

    def __call__(self, event: str, /, **facts: object) -> None: ...


Park = Callable[[Address, Envelope, BaseException], None]  # keeps a message that crashed its actor twice
Chooser = Callable[[Sequence[str]], int]
# The last option of a chooser where no turn need be taken now: let other tasks run first.
PAUSE = "<pause>"
Observer = Callable[[Address, object, Literal["before", "after"]], None]


@dataclass(frozen=True, slots=True)
class Subscribe(Message[None]):
    """Control lane: join the feed."""

    subscriber: Subscriber


@dataclass(frozen=True, slots=True)
class Inspect(Message[dict[str, object]]):
    """Control lane: what the incarnation holds."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every pool shares.

    `choose` decides whose turn is next, and whether other tasks run before it; `observe` sees every turn from both
    sides and may raise. Both are for simulation. Without `choose` the first that comes is served first, asks are
    answered at once when they can be, and turns are taken for a millisecond between two checkpoints.
    """

    record: Record
    park: Park
    chance: Callable[[], float]
    choose: Chooser | None = None
    observe: Observer | None = None
    unavailable: tuple[type[Exception], ...] = ()  # raised when there is no database: no fault of an actor
