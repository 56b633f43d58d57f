"""The services that all pools share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from .address import Address
from .envelope import Envelope
from .request_trail import RequestTrail


class Record(Protocol):
    """Writes a supervision decision: an event of the log's vocabulary and its facts."""

    def __call__(self, event: str, /, **facts: object) -> None: ...


Park = Callable[[Address, Envelope, BaseException], None]  # keeps a message that crashed its actor twice
Chooser = Callable[[Sequence[str]], int]
# The last option of a chooser when no turn has to be taken now: other tasks run first.
PAUSE = "<pause>"
Observer = Callable[[Address, object, Literal["before", "after"]], None]
# A turn takes any actor and any message: `turn` has checked that they belong together.
AnyTurn = Callable[[Any, Any], object]
# Returns a turn that is traced, and its message as the origin of what the turn sends.
TraceTurn = Callable[[Address, Envelope, AnyTurn], tuple[Envelope, AnyTurn]]


@dataclass(frozen=True, slots=True)
class PoolServices:
    """The services that all pools share.

    `choose` decides which turn is next, and whether other tasks run before it; `observe` sees every turn before and
    after, and may raise. Both are for simulation. Without `choose`, messages are handled in the order of arrival, asks
    are answered at once when possible, and turns run for a millisecond between two checkpoints.
    """

    record: Record
    park: Park
    chance: Callable[[], float]
    choose: Chooser | None = None
    observe: Observer | None = None
    unavailable: tuple[type[Exception], ...] = ()  # raised when there is no database; does not crash an actor
    trail: RequestTrail = field(default_factory=RequestTrail)
    trace: TraceTurn | None = None  # called for messages of traced requests
