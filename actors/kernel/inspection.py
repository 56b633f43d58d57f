"""The actors of a running process as operators see them: by kind, in order of their troubles, and in detail.

Everything is read from the cells directly, without a message, so that it also shows actors that take no messages:
actors in a turn that waits for ever, or in quarantine. Looking at all cells takes a while when there are many. It is
done in slices, between which other tasks run. `at_once` does it without pauses, for the thread that answers while a
turn keeps the loop busy.
"""

from __future__ import annotations

import re
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from heapq import nlargest
from itertools import islice
from operator import ge
from time import perf_counter
from typing import Literal, NamedTuple, TypeVar

import trio

from .cell import EMPTY, QUARANTINED, READY, RESTING, Cell, held_state
from .message import Address, Envelope
from .pool import ActorPool
from .recovery import Crash
from .request_trail import RecentMessages, RequestTrail, Step
from .watchdog import innermost_frame, stack_of_turn
from .work import Work

T = TypeVar("T")

Slices = Generator[None, None, T]  # pauses after each slice, and returns the answer

SLICE = 500  # cells looked at between two checkpoints, which takes about half a millisecond

FOREIGN = re.compile(r"/trio/|/actors/kernel/")
DATABASE = "/storage/engine/"
MOST_SUBSCRIBERS = 50  # of one actor
Order = Literal["depth", "oldest", "turn", "restarts"]


@dataclass(frozen=True, slots=True)
class KindSummary:
    """All actors of one kind. Times are seconds."""

    kind: str
    known: int  # addresses that are in memory
    awake: int  # addresses with an incarnation
    working: int  # turns and loads under way
    depth: int  # messages that wait
    oldest: float  # the age of the oldest of them
    turn: float  # how long the longest turn takes so far
    restarts: int  # since the process started
    resting: int  # actors that crashed and wait for their restart
    quarantined: int
    subscribers: int


@dataclass(frozen=True, slots=True)
class ActorSummary:
    """One actor in a list. Times are seconds."""

    address: str
    phase: str
    depth: int  # messages that wait
    oldest: float  # the age of the oldest of them
    message: str  # of the current turn; `load` while rows are read, empty between turns
    turn: float  # how long the current turn or load takes so far
    restarts: int  # incarnations before the current incarnation
    subscribers: int


@dataclass(frozen=True, slots=True)
class ActorFilter:
    """The actors that a list shows: of one kind, and with at least these numbers."""

    kind: str | None = None
    depth: int = 0
    oldest: float = 0.0
    turn: float = 0.0
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class CurrentTurn:
    """The turn or load that an actor is in."""

    message: str
    message_id: int | None  # None for a load
    request_id: str
    causes: tuple[str, ...]
    seconds: float
    waits_for: str  # another actor, or the innermost place of its stack
    stack: str
    busy: bool  # it keeps the loop busy: no other actor gets a turn


@dataclass(frozen=True, slots=True)
class WaitingMessages:
    """The messages of one kind that wait in a mailbox."""

    message: str
    count: int
    oldest: float


@dataclass(frozen=True, slots=True)
class SubscriberLag:
    """One stream that listens to an actor."""

    behind: int  # events that it has not read
    blocked: float  # seconds since its client took something, while something is being sent


@dataclass(frozen=True, slots=True)
class ActorSnapshot:
    """One actor in full."""

    summary: ActorSummary
    incarnation: int
    holds: str  # its state in numbers
    idle: float  # seconds since it was last asked
    release_in: float  # seconds until the end of its quarantine; 0 outside
    turn: CurrentTurn | None
    mailbox: list[WaitingMessages]
    recent: list[RecentMessages]
    crashes: list[Crash]  # the latest last
    subscribers: list[SubscriberLag]  # the subscribers that are furthest behind


class Numbers(NamedTuple):
    """The numbers that a list is sorted and filtered by."""

    depth: int
    oldest: float
    turn: float
    restarts: int


class Overview(NamedTuple):
    """All kinds, and the actors of a list."""

    kinds: list[KindSummary]
    actors: list[ActorSummary]


Candidate = tuple[Numbers, ActorPool, Cell]


def _rank(first: int) -> Callable[[Candidate], tuple[float, ...]]:
    return lambda candidate: (candidate[0][first], *candidate[0])


EVERYBODY = ActorFilter()
QUIET = Numbers(0, 0.0, 0.0, 0)
NO_FRAMES = traceback.StackSummary()
RANKS = {name: _rank(place) for place, name in enumerate(Numbers._fields)}


class KindTally:
    """Counts the cells of one kind."""

    __slots__ = ("awake", "depth", "known", "oldest", "quarantined", "resting", "subscribers")

    def __init__(self) -> None:
        self.known = self.awake = self.depth = self.resting = self.quarantined = self.subscribers = 0
        self.oldest = 0.0

    def add(self, cells: list[Cell], now: float) -> None:
        self.known += len(cells)
        for cell in cells:
            phase = cell.phase
            if cell.actor is not None:
                self.awake += 1
            if phase is RESTING:
                self.resting += 1
            elif phase is QUARANTINED:
                self.quarantined += 1
            if cell.listened is not None:
                self.subscribers += len(cell.listened)
            if cell.mailbox and (waiting := cell.depth):
                self.depth += waiting
                self.oldest = max(self.oldest, age_of(cell, now))


class FirstActors:
    """Keeps the first actors of an order, among the actors that pass a filter. Of equal actors the earlier stay."""

    def __init__(self, order: Order, found: ActorFilter, limit: int) -> None:
        self.found: list[Candidate] = []
        self._rank = RANKS[order]
        self._least = Numbers(found.depth, found.oldest, found.turn, found.restarts)
        self._limit = limit

    @property
    def is_full(self) -> bool:
        return len(self.found) >= self._limit

    def add(self, some: Iterable[Candidate]) -> None:
        if self._least != QUIET:
            some = (candidate for candidate in some if all(map(ge, candidate[0], self._least)))
        if self.is_full and self.found:
            last, rank = self._rank(self.found[-1]), self._rank
            some = [candidate for candidate in some if rank(candidate) > last]
            if not some:
                return
        self.found = nlargest(self._limit, [*self.found, *some], key=self._rank)


class Inspection:
    """Looks into the pools of one process."""

    def __init__(self, pools: Mapping[str, ActorPool], trail: RequestTrail) -> None:
        self._pools = pools
        self._trail = trail
        self._offset = 0.0  # from the clock of the machine to Trio's, which a thread can't read
        self._loop = 0  # the thread in which the actors run

    def started(self) -> None:
        """Note the thread in which the actors run."""
        self._offset = trio.current_time() - perf_counter()
        self._loop = threading.get_ident()

    async def kinds(self) -> list[KindSummary]:
        """Return each kind of actor."""
        return await in_slices(self.each_kind())

    async def request(self, request_id: str) -> list[Step]:
        """Return the consequences of a request as a tree, as far as they are remembered."""
        return await in_slices(self._trail.of_request(request_id))

    async def overview(self, order: Order, found: ActorFilter = EVERYBODY, limit: int = 50) -> Overview:
        """Return each kind, and the first actors of an order: the greatest numbers first."""
        return await in_slices(self.each_kind_and_actor(order, found, limit))

    def actor(self, address: Address) -> ActorSnapshot | None:
        """Return an actor. None if it sleeps: a sleeping actor has nothing in memory."""
        pool = self._pools.get(address.kind)
        cell = pool.cells.get(address.key) if pool is not None else None
        if pool is None or cell is None:
            return None
        now = self._now()
        turn = self._turn(pool, cell, now)
        return ActorSnapshot(
            self._summary(pool, cell, now), cell.incarnation, held_state(cell.actor), now - cell.last_used,
            max(cell.release_at - now, 0.0) if cell.phase is QUARANTINED else 0.0,
            turn, waiting_messages(list(cell.mailbox), now), self._trail.of_actor(address),
            pool.recovery.crashes_of(str(address), now), subscribers_of(cell, now),
        )  # fmt: skip

    # -- in slices

    def each_kind(self) -> Slices[list[KindSummary]]:
        found: list[KindSummary] = []
        for pool in list(self._pools.values()):
            tally = KindTally()
            for cells in slices_of(pool.cells):
                tally.add(cells, self._now())
                yield
            found.append(self._kind(pool, tally))
        return found

    def each_kind_and_actor(self, order: Order, found: ActorFilter, limit: int) -> Slices[Overview]:
        """Each cell is looked at once. Summaries are made at the end, only of the actors that are shown."""
        kinds: list[KindSummary] = []
        first = FirstActors(order, found, limit)
        for pool in list(self._pools.values()):
            tally, listed = KindTally(), found.kind in (None, pool.kind)
            for cells in slices_of(pool.cells):
                now = self._now()
                tally.add(cells, now)
                if listed:
                    some = filter(is_busy if first.is_full else has_news, cells)
                    first.add((self._numbers(pool, cell, now), pool, cell) for cell in some)
                yield
            kinds.append(self._kind(pool, tally))
        now = self._now()
        return Overview(kinds, [self._summary(pool, cell, now) for _, pool, cell in first.found])

    def _kind(self, pool: ActorPool, tally: KindTally) -> KindSummary:
        now, working = self._now(), pool.working()
        turns = [now - work.started_at for work in working]
        if pool.drainer.running() is not None:
            turns.append(now - self._offset - pool.drainer.began)
        return KindSummary(
            pool.kind, tally.known, tally.awake, len(working), tally.depth, tally.oldest, max(turns, default=0.0),
            pool.restarts, tally.resting, tally.quarantined, tally.subscribers,
        )  # fmt: skip

    # -- one cell

    def _numbers(self, pool: ActorPool, cell: Cell, now: float) -> Numbers:
        if not is_busy(cell):
            return QUIET
        depth = cell.depth
        _, began = self._current(pool, cell)
        return Numbers(
            depth, age_of(cell, now) if depth else 0.0, 0.0 if began is None else max(now - began, 0.0),
            max(cell.incarnation - 1, 0),
        )  # fmt: skip

    def _summary(self, pool: ActorPool, cell: Cell, now: float) -> ActorSummary:
        numbers = self._numbers(pool, cell, now)
        return ActorSummary(
            str(cell.address), cell.phase.name.lower(), numbers.depth, numbers.oldest, self._current(pool, cell)[0],
            numbers.turn, numbers.restarts, cell.subscribers,
        )  # fmt: skip

    def _current(self, pool: ActorPool, cell: Cell) -> tuple[str, float | None]:
        """Return the message of the current turn, and when on Trio's clock it began."""
        work, envelope = cell.work, cell.envelope
        if isinstance(work, Work):
            return envelope.kind if envelope is not None else "load", work.started_at
        if envelope is None:
            return "", None
        if cell.phase is READY:
            return envelope.kind, pool.drainer.began + self._offset
        return envelope.kind, None

    def _turn(self, pool: ActorPool, cell: Cell, now: float) -> CurrentTurn | None:
        work, envelope = cell.work, cell.envelope
        message, began = self._current(pool, cell)
        if began is None:
            return None
        running = pool.drainer.running()
        busy = running is not None and running.cell is cell
        if busy:
            stack = stack_of_turn(innermost_frame(self._loop))
            waits_for = "nothing: it keeps the server busy"
        else:
            frames = frames_of(work) if isinstance(work, Work) else NO_FRAMES
            stack, waits_for = "".join(frames.format()), waited_for(work, frames)
        return CurrentTurn(
            message, *_about(envelope), max(now - began, 0.0), waits_for, stack, busy
        )  # fmt: skip

    def _now(self) -> float:
        """Return the time on Trio's clock, also in another thread."""
        return perf_counter() + self._offset if self._is_outside else trio.current_time()

    @property
    def _is_outside(self) -> bool:
        return threading.get_ident() != self._loop


async def in_slices(slices: Slices[T]) -> T:
    """Return an answer that takes long to find. Other tasks run after each slice."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            return end.value
        await trio.lowlevel.checkpoint()


def at_once(slices: Slices[T]) -> T:
    """Return the answer without pauses, in a thread beside the loop."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            return end.value


def slices_of(cells: Mapping[str, Cell]) -> Iterable[list[Cell]]:
    """Yield the cells of a pool, `SLICE` at a time. Cells that come or go meanwhile may be missing."""
    rest = iter(list(cells.values()))
    while some := list(islice(rest, SLICE)):
        yield some


def age_of(cell: Cell, now: float) -> float:
    """Return the age of the oldest waiting message. Deferred messages do not count."""
    mailbox = list(cell.mailbox)
    if cell.phase is READY and not cell.subscribers:
        return max((now - envelope.sent_at for envelope in mailbox if not envelope.can_wait), default=0.0)
    return max((now - envelope.sent_at for envelope in mailbox[: cell.mailbox.urgent + 1]), default=0.0)


def is_busy(cell: Cell) -> bool:
    """True if any of its numbers is not 0.

    Most actors are not busy, and idle actors never displace others in a list.
    """
    if cell.envelope is not None or cell.work is not None or cell.incarnation > 1:
        return True
    return bool(cell.mailbox and cell.depth)


def has_news(cell: Cell) -> bool:
    """True if a list shows the cell: it has an incarnation, or mail, or trouble."""
    return cell.phase is not EMPTY or bool(cell.mailbox)


def waiting_messages(mailbox: list[Envelope], now: float) -> list[WaitingMessages]:
    """Return the messages that wait, by kind, the most numerous first."""
    counts = Counter(envelope.kind for envelope in mailbox)
    oldest: dict[str, float] = {}
    for envelope in mailbox:
        oldest[envelope.kind] = max(oldest.get(envelope.kind, 0.0), now - envelope.sent_at)
    return [WaitingMessages(kind, count, oldest[kind]) for kind, count in counts.most_common()]


def subscribers_of(cell: Cell, now: float) -> list[SubscriberLag]:
    """Return the streams that listen to an actor and are furthest behind."""
    lags = cell.listened.lags() if cell.listened is not None else []
    found = [SubscriberLag(behind, now - since if since is not None else 0.0) for behind, since in lags]
    return nlargest(MOST_SUBSCRIBERS, found, key=lambda lag: (lag.behind, lag.blocked))


def frames_of(work: Work) -> traceback.StackSummary:
    """Return the frames of a turn or load that waits, innermost last, without frames of the kernel and of Trio."""
    frames = traceback.StackSummary.extract(work.task.iter_await_frames())
    return traceback.StackSummary.from_list([frame for frame in frames if not FOREIGN.search(frame.filename)])


def waited_for(work: object, frames: list[traceback.FrameSummary]) -> str:
    """Return the object that a turn waits for: another actor, PostgreSQL, or the innermost place of its stack."""
    if isinstance(work, Work) and work.waits_for is not None:
        return f"an answer of {work.waits_for.address}"
    if not frames:
        return ""
    innermost = frames[-1]
    if DATABASE in innermost.filename:
        return "PostgreSQL, or a connection to it"
    return f"{innermost.name} in {innermost.filename.rsplit('/', 1)[-1]}:{innermost.lineno}"


def _about(envelope: Envelope | None) -> tuple[int | None, str, tuple[str, ...]]:
    if envelope is None:
        return None, "-", ()
    return envelope.id, envelope.origin.request_id, envelope.origin.causes
