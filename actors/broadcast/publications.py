"""The publications of commits to streams, and which of them are not in the log of changes yet.

Turns and the relay notify awake timelines of a change as soon as it is committed. The relay writes it into the log
(`storage/stream_log.py`) when it deletes the promise, many at once. So the log lags behind by a moment, and the ids of
events name the events of that moment (`kernel/resumption.py`).

In a cluster every node writes to the log, and ids of events mean the same on all nodes. Each node tells the others its
progress: a floor, at or below which it writes no more rows, and which of its publications are in the log. The lowest
floor of all nodes is the position up to which the log is complete. The facts in the log up to there were published on
this node before, because a node is told the progress of another after the facts that were sent before it. Only then may
an id leave out the keys of the events: a publication ends when the position has reached its rows.

Two kinds of publications are not known to reach the log: those of a node that has died, and those that have failed.
Their facts are in the log, or are promises that are published again. Their events stay among the keys for a minute
(`LOGGED_WITHIN`), and no other publication waits for them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from heapq import heappop, heappush
from typing import TypeVar

import trio

from ..kernel import Event, Ids
from ..kernel.clock import BELOW_MILLISECONDS
from ..kernel.resumption import Publication

E = TypeVar("E", bound=Event)

# For this time an interrupted client can read the events that it missed.
LOG_KEPT = timedelta(days=1)

# Within this time, in ids, a committed fact is published and in the log, also if a node dies.
LOGGED_WITHIN = 60_000 << BELOW_MILLISECONDS

# The number of the current publication in this task; 0 outside of publications.
CURRENT = ContextVar("CURRENT", default=0)


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a node's log, which it tells the other nodes.

    All its publications with numbers below `oldest` are in the log, at positions of at most `floor`, except for those
    in `unlogged`, which have failed. The node will write no more rows at positions of at most `floor`.
    """

    floor: int
    oldest: int
    unlogged: tuple[int, ...] = ()


# The progress of a node that has not told any.
UNKNOWN = Progress(0, 0)


@dataclass(slots=True)
class PeerLog:
    """Another node. `waiting` is a heap of its publications that are not in the log, with their numbers here."""

    progress: Progress = UNKNOWN
    waiting: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])


class Publications:
    """The publications on this node, numbered in their order, also those of facts of other nodes.

    `open` publications are not in the log yet, or the log is not known to be complete up to their rows.
    """

    def __init__(self, ids: Ids) -> None:
        self.begun = 0  # the number of the latest publication
        self.open: dict[int, None] = {}
        # The incarnation of this node in a cluster. The log takes no rows of a node that was removed.
        self.incarnation: int | None = None
        self._ids = ids
        self._position = 0
        self._unlogged: dict[int, None] = {}  # publications of this node that are not in the log
        self._logged: list[tuple[int, int]] = []  # a heap of open publications with the position that ends them
        # Publications that are not known to reach the log, with the position at which they are forgotten.
        self._held: dict[int, int] = {}
        self._failed: dict[int, None] = {}  # publications of this node among these
        self._held_numbers = frozenset[int]()
        self._writing = 0  # the lowest position of rows that are being written; 0 if there are none
        self._peers: dict[str, PeerLog] = {}
        self._changed = trio.Event()

    @property
    def position(self) -> int:
        """The position up to which the log is complete. At first it is above all ids in the rows at start.

        It is 0 until all nodes of a cluster have told their progress.
        """
        if not self._position:
            self._position = self._lowest(self._floor())
        return self._position

    @property
    def newest(self) -> int:
        """A position that no node has passed."""
        return self._ids.next() if self._peers else self.position

    @property
    def oldest(self) -> int:
        """The number below which all publications have ended, except for those that are held."""
        return next(iter(self.open), self.begun + 1)

    @property
    def oldest_unlogged(self) -> int:
        """The number below which all publications of this node are in the log, except for those that have failed."""
        return next(iter(self._unlogged), self.begun + 1)

    @property
    def current(self) -> int:
        """The number of the current publication in this task; 0 outside of publications."""
        return CURRENT.get()

    def unlogged(self) -> frozenset[int]:
        """Return the publications that are not known to be in the log."""
        waiting = (number for peer in self._peers.values() for _, number in peer.waiting)
        return frozenset((*self._unlogged, *waiting, *self._held))

    # Publications of this node --------------------------------------------------------------------------------------

    @contextmanager
    def publication(self) -> Generator[int]:
        """A context for one publication. It is open until `logged`, `end` or `hold` is called with its number."""
        self._unlogged[self.begun + 1] = None
        with self._begun() as number:
            yield number

    def with_position(self, event: E) -> E:
        """Set the position and the publication of an event. Return the event."""
        publication = Publication(self.position, CURRENT.get(), self.oldest, self._held_numbers)
        object.__setattr__(event, "publication", publication)
        return event

    def will_log(self, position: int) -> None:
        """Note that rows are written at this position and above. The outcome may stay unknown until `logged`."""
        self._writing = min(self._writing or position, position)

    def logged(self, numbers: Iterable[int], position: int) -> None:
        """Note that publications, and all rows that were being written, are in the log up to a position."""
        self._writing = 0
        for number in numbers:
            if number in self._unlogged:
                del self._unlogged[number]
                heappush(self._logged, (position, number))
        self._advance(position)

    def end(self, number: int) -> None:
        """End a publication of facts without promises, which are not logged."""
        del self._unlogged[number], self.open[number]
        self.go_on()

    def hold(self, number: int) -> None:
        """Note that a publication has failed. Its facts are published again."""
        del self._unlogged[number]
        self._failed[number] = None
        self._hold([number])

    def go_on(self) -> None:
        """Wake the tasks in `changed`."""
        self._changed.set()
        self._changed = trio.Event()

    async def changed(self) -> None:
        """Wait for the next change of a publication."""
        await self._changed.wait()

    # Other nodes ----------------------------------------------------------------------------------------------------

    def progress(self) -> Progress:
        """Return the progress of this node, to be sent after all facts that were published before."""
        return Progress(self._floor(), self.oldest_unlogged, tuple(self._failed))

    def join(self, node: str) -> None:
        """Add a node. Until it has told its progress, the position stands still.

        The node must write no rows until it has witnessed an id that every other node has drawn after this call:
        its ids may be lower than positions that were passed before. A new process of a node joins after its predecessor
        has left.
        """
        self._peers[node] = PeerLog()

    def hear(self, node: str, progress: Progress) -> None:
        """Note the progress of another node: after all facts that it had sent before have been applied here.

        Otherwise the position could pass rows of facts that this node has not published yet. If facts were lost, the
        timelines must be marked to be read again first.
        """
        peer = self._peers.get(node)
        if peer is None or (progress.floor, progress.oldest) < (peer.progress.floor, peer.progress.oldest):
            return  # it has left, or it is an older message
        self._ids.witness(progress.floor)
        peer.progress = progress
        self._settle(peer)
        self._advance(self._floor())

    @contextmanager
    def foreign(self, node: str, number: int) -> Generator[None]:
        """A context to apply the facts of another node's publication; 0: of none.

        The publication has a number of its own here. It ends when the node has told that it is in the log.
        """
        if not number:
            yield
            return
        with self._begun() as own_number:
            if (peer := self._peers.get(node)) is None:
                self._hold([own_number])
            else:
                heappush(peer.waiting, (number, own_number))
                self._settle(peer)
            yield

    def leave(self, node: str, highest: int) -> None:
        """Remove a node that has died or left. `highest` is the highest id in all rows (`storage/upkeep/highest.py`).

        It is read after the node was removed, when it can write no more rows. This node must call it before it takes
        turns of accounts that the other has owned: from now on all ids and positions are above `highest`, so that the
        statuses and events of an author keep their order.

        The facts of its last publications may not have arrived: the timelines must be marked to be read again first.
        """
        self._ids.witness(highest)
        if (peer := self._peers.pop(node, None)) is not None:
            self._hold(own_number for _, own_number in peer.waiting)
            self._advance(self._floor())

    @contextmanager
    def _begun(self) -> Generator[int]:
        self.begun += 1
        number = self.begun
        self.open[number] = None
        before = CURRENT.set(number)
        try:
            yield number
        finally:
            CURRENT.reset(before)

    def _floor(self) -> int:
        """Return a position at or below which this node writes no more rows. Positions are drawn from its ids."""
        return self._writing - 1 if self._writing else self._ids.next()

    def _lowest(self, floor: int) -> int:
        return min((floor, *(peer.progress.floor for peer in self._peers.values()))) if self._peers else floor

    def _settle(self, peer: PeerLog) -> None:
        """Note the publications of another node that are in the log by its progress."""
        progress, failed = peer.progress, list[int]()
        while peer.waiting and peer.waiting[0][0] < progress.oldest:
            number, own_number = heappop(peer.waiting)
            if number in progress.unlogged:
                failed.append(own_number)
            else:
                heappush(self._logged, (progress.floor, own_number))
        if failed:
            self._hold(failed)

    def _hold(self, numbers: Iterable[int]) -> None:
        until = self._ids.next() + LOGGED_WITHIN
        for number in numbers:
            del self.open[number]
            self._held[number] = until
        self._held_numbers = frozenset(self._held)
        self.go_on()

    def _advance(self, floor: int) -> None:
        """Raise the position to the lowest floor of all nodes, and end the publications up to there."""
        self._position = position = max(self._position, self._lowest(floor))
        while self._logged and self._logged[0][0] <= position:
            del self.open[heappop(self._logged)[1]]
        if self._held and min(self._held.values()) <= position:
            self._held = {number: until for number, until in self._held.items() if until > position}
            self._failed = {number: None for number in self._failed if number in self._held}
            self._held_numbers = frozenset(self._held)
        self.go_on()
