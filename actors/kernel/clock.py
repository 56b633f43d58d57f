"""Wall-clock time for rows and people, and 64-bit ids that sort by it. Deadlines use Trio's own clock.

An id has milliseconds since 1970 in its upper 48 bits, then 6 bits for the node and 10 for the sequence number. Clock
and ids are parameters, and the database never makes ids, so that a simulated run replays. Ids never go backwards, even
when the clock does: then the sequence runs on from the last millisecond seen.

Actors compare ids: a status is news on a stream if its id is above that of the follow. Where a fact is applied, new ids
are above the ids that the fact carries (`Ids.witness`), so that the order holds between processes whose clocks differ.

Earlier versions had 2 bits for the node and 14 for the sequence number. Their ids stay valid: only the millisecond
decides how ids of different nodes sort.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The source of the time of day in all rooms."""

    def now(self) -> datetime:
        """The current instant, aware, in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)


# A node is a process that makes ids. A process uses few ids in a millisecond, and each process that writes needs a node
# number of its own: so the sequence number is short, and there are 64 nodes.
NODE_BITS = 6
SEQUENCE_BITS = 10
NODES = 1 << NODE_BITS
BELOW_MILLISECONDS = NODE_BITS + SEQUENCE_BITS


class Ids:
    """A source of fresh ids.

    Processes that write at the same time (servers and the command line) have different node numbers, so that they never
    make the same id. When the 1,024 ids of a millisecond are used up, the next millisecond is begun early.
    """

    def __init__(self, clock: Clock, node: int = 0) -> None:
        self._clock = clock
        self.use(node)
        self._tick = 0  # the last id, without its node number

    def use(self, node: int) -> None:
        """Make ids with this node number from now on. No other process may have it."""
        if not 0 <= node < NODES:
            raise ValueError(f"node must be 0 to {NODES - 1}, not {node}")
        self._node = node

    def is_own(self, id: int) -> bool:
        """True if an id has the node number with which ids are made now."""
        return (id >> SEQUENCE_BITS) & (NODES - 1) == self._node

    def witness(self, id: int) -> None:
        """Make only ids above `id` from now on. `id` may come from another process, whose clock is ahead.

        So ids sort in the order of cause and effect: a status that is written where a follow is known has a higher id
        than the follow.
        """
        instant, node = id >> BELOW_MILLISECONDS, (id >> SEQUENCE_BITS) & (NODES - 1)
        if node == self._node:
            heard = (instant << SEQUENCE_BITS) | (id & ((1 << SEQUENCE_BITS) - 1))
        else:
            heard = ((instant + 1) << SEQUENCE_BITS) - 1  # the nodes of one millisecond do not sort by time
        self._tick = max(self._tick, heard)

    def now(self) -> datetime:
        """Return the time of day, by the clock of this process alone."""
        return self._clock.now()

    def next(self) -> int:
        """Return a new id, larger than all earlier ids of this source."""
        self._tick = max(self._tick + 1, milliseconds(self._clock.now()) << SEQUENCE_BITS)
        instant, sequence = self._tick >> SEQUENCE_BITS, self._tick & ((1 << SEQUENCE_BITS) - 1)
        return (instant << BELOW_MILLISECONDS) | (self._node << SEQUENCE_BITS) | sequence


def milliseconds(instant: datetime) -> int:
    """Return the milliseconds since 1970."""
    return int(instant.timestamp() * 1000)


def first_id_at(instant: datetime) -> int:
    """Return the lowest id that can be handed out at `instant`, to compare ids with times."""
    return milliseconds(instant) << BELOW_MILLISECONDS


def instant_of_id(id: int) -> datetime:
    """Return the time when an id was handed out, by the clock that its process had."""
    return datetime.fromtimestamp((id >> BELOW_MILLISECONDS) / 1000, UTC)
