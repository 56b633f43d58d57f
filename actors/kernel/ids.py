"""64-bit ids that sort by time: milliseconds since 1970 in the upper 48 bits, lane and sequence in the lower 16.

Ids are handed out in the process, never by the database, so that a simulated run replays. They never go backwards, even
when the clock does: then the sequence runs on inside the last millisecond seen.
"""

from __future__ import annotations

from datetime import datetime

from .clock import Clock

SEQUENCE_BITS = 14
LANES = 4


class Ids:
    """A source of fresh ids.

    Processes that write at the same time (the server and the command line) take different lanes (0 to 3), so that they
    never hand out the same id.
    """

    def __init__(self, clock: Clock, lane: int = 0) -> None:
        if not 0 <= lane < LANES:
            raise ValueError(f"lane must be 0 to {LANES - 1}, not {lane}")
        self._clock = clock
        self._lane = lane << SEQUENCE_BITS
        self._tick = 0

    def start_above(self, id: int) -> None:
        """Hand out nothing that is not above `id`, the highest in use."""
        self._tick = max(self._tick, ((id >> 16) + 1) << SEQUENCE_BITS)

    def next(self) -> int:
        """A new id, larger than every earlier one of this source."""
        self._tick = max(self._tick + 1, milliseconds(self._clock.now()) << SEQUENCE_BITS)
        instant, sequence = self._tick >> SEQUENCE_BITS, self._tick & ((1 << SEQUENCE_BITS) - 1)
        return (instant << 16) | self._lane | sequence


def milliseconds(instant: datetime) -> int:
    """Milliseconds since 1970."""
    return int(instant.timestamp() * 1000)


def first_id_at(instant: datetime) -> int:
    """The lowest id that can be handed out at `instant`: for comparing ids with times."""
    return milliseconds(instant) << 16
