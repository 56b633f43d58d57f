"""All actors of one kind: their cells, the drainer that gives them their turns, and what happens when one crashes.

The drainer is one task with a run queue of cells that have mail. It runs plain turns inline, at most a millisecond of
them between two checkpoints, and starts a task for each turn that waits, so that an idle actor costs no task and a
fan-out costs no task switch. Incarnations and turns are started from the drainer's own task and never from a caller's:
`start_soon` would hand them the caller's context.
"""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from operator import attrgetter
from time import perf_counter
from types import CoroutineType
from typing import Any, Literal, Protocol

import trio

from ...storage.engine import Unavailable
from .actor import Actor, Turn
from .address import Address
from .cell import AT_REST, EMPTY, READY, Cell, Phase
from .envelope import Envelope
from .errors import Busy, Crashed, Quarantined, Stopping, TimedOut
from .feed import Feed, Subscriber
from .policy import RestartPolicy

BUDGET = 0.001  # seconds of plain turns between two checkpoints
SLOW_TURN = 1.0  # seconds until a turn is logged
LONGEST_TURN = 30.0  # seconds until a turn is given up and its actor restarted
STORAGE_REST = 0.5  # seconds until an actor that found no database tries again
IDLE = 600.0  # seconds without a message until an actor goes to sleep
SWEEP = 30.0  # seconds between two looks for idle actors
SWEPT_AT_ONCE = 2_000  # cells looked at in one round of housekeeping, which is about half a millisecond


class Record(Protocol):
    """Where supervision decisions are written: an event of the log's vocabulary and its facts."""

    def __call__(self, event: str, /, **facts: object) -> None: ...


Chooser = Callable[[Sequence[str]], int]
Observer = Callable[[Address, object, Literal["before", "after"]], None]


class Overdue(Exception):
    """A turn took longer than any turn may."""


@dataclass(frozen=True, slots=True)
class Subscribe:
    """Control lane: join the feed."""

    subscriber: Subscriber


@dataclass(frozen=True, slots=True)
class Inspect:
    """Control lane: what the incarnation holds."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every pool shares.

    `choose` decides whose turn is next, and `observe` sees every turn from both sides and may raise: both are for
    simulation, and leaving `choose` out means first come, first served.
    """

    record: Record
    park: Callable[[Address, Envelope, Exception], None]
    chance: Callable[[], float]
    choose: Chooser | None = None
    observe: Observer | None = None


class Pool:
    """The actors of one kind."""

    def __init__(
        self,
        kind: str,
        make: Callable[[Cell], Actor],
        turns: dict[type, Turn],
        surroundings: Surroundings,
        *,
        policy: RestartPolicy | None = None,
        most_awake: int = 100_000,
        idle: float = IDLE,
    ) -> None:
        self.kind = kind
        self.cells: dict[str, Cell] = {}
        self._make = make
        self._turns = turns
        self._around = surroundings
        self._observe = surroundings.observe
        self._policy = policy or RestartPolicy()
        self._most_awake = most_awake
        self._idle = idle
        self._queue: deque[Cell] = deque()
        self._errands: deque[tuple[Callable[..., Any], tuple[Any, ...]]] = deque()  # tasks for the drainer to start
        self._sleeper: trio.lowlevel.Task | None = None  # the drainer, when it has nothing to do
        self._busy = 0  # loads, waiting turns and rests under way
        self._closed = True
        self._quiet = trio.Event()
        self._watched: dict[Cell, None] = {}  # cells in a waiting turn or in quarantine
        self._next_sweep = 0.0
        self._unswept: list[Cell] = []  # cells that this sweep has not looked at yet

    # -- the outside: called by the runtime, never waits

    def cell(self, key: str) -> Cell:
        """The cell at this key; an address is always valid."""
        cell = self.cells.get(key)
        if cell is None:
            cell = self.cells[key] = Cell(Address(self.kind, key), trio.current_time())
        return cell

    def post(self, cell: Cell, envelope: Envelope) -> None:
        """Put a message into a mailbox, or say at once why not."""
        if envelope.reply is not None:
            cell.last_used = trio.current_time()
        if self._closed or cell.phase is Phase.QUARANTINED:
            self._turn_away(cell, envelope)
        elif not cell.mailbox.room(envelope):
            self._overflow(cell, envelope)
        else:
            cell.mailbox.append(envelope)
        self._schedule(cell)

    def post_to_all(self, cells: Iterable[Cell], envelope: Envelope) -> None:
        """The same for a hint and many mailboxes, most of them empty: the fan-out's inner loop."""
        take_in_turn = self._queue.append
        for cell in cells:
            if cell.queued or cell.phase is not READY or self._closed:
                self.post(cell, envelope)
            else:  # as `post` does, without a call
                cell.mailbox.append(envelope)
                cell.queued = True
                take_in_turn(cell)
        self._wake()

    def post_control(self, cell: Cell, envelope: Envelope) -> None:
        """Put a message of the runtime's own before all others."""
        cell.last_used = trio.current_time()
        if self._closed or cell.phase is Phase.QUARANTINED:
            self._turn_away(cell, envelope)
        else:
            cell.mailbox.put_control(envelope)
        self._schedule(cell)

    def answer_now(self, cell: Cell, envelope: Envelope) -> bool:
        """Take the turn for an asker at once when the actor is at rest: no task switch for an answer from memory."""
        if cell.phase is not READY or cell.mailbox or cell.mailbox.resync or self._around.choose or self._closed:
            return False
        cell.last_used = trio.current_time()
        self._take_turn(cell, envelope, self._turns[type(envelope.message)])
        return True

    def handles(self, message: object) -> bool:
        return type(message) in self._turns

    def resync(self, cell: Cell) -> None:
        """Have the actor read its rows again before it takes its next message."""
        if not self._closed:
            cell.mailbox.resync = True
            self._schedule(cell)

    def cut_streams(self) -> None:
        """Let go of every subscriber: the process is about to stop."""
        for cell in list(self.cells.values()):
            cell.feed.cut_all()

    def release(self, cell: Cell) -> None:
        """End a quarantine."""
        if cell.phase is Phase.QUARANTINED:
            cell.crashes = None
            cell.phase = EMPTY
            self._watched.pop(cell, None)
            self._around.record("actor.released", actor=str(cell.address), incarnation=cell.incarnation)
            self._enqueue(cell)

    # -- life of the pool

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Give turns until `stopping` is set and all mail is handled. Nobody is left without an answer.

        Actors that rest after a crash are not waited for: their askers are told that the process stops.
        """
        self._closed = False
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._drain, nursery, name=f"{self.kind}: drainer")
                task_status.started()
                await stopping.wait()
                self._closed = True
                await self._settle()
                nursery.cancel_scope.cancel()
        finally:
            self._abandon()

    async def _settle(self) -> None:
        while self._busy or self._queue:
            self._quiet = trio.Event()
            await self._quiet.wait()

    def _abandon(self) -> None:
        self._closed = True
        self._queue.clear()
        for _, arguments in self._errands:
            if isinstance(arguments[-1], Coroutine):
                arguments[-1].close()
        self._errands.clear()
        self._busy = 0
        self._watched.clear()
        self._unswept.clear()
        cells, self.cells = list(self.cells.values()), {}
        for cell in cells:
            waiting = cell.mailbox.empty()
            for envelope in [cell.envelope, *waiting] if cell.envelope else waiting:
                if envelope.reply:
                    envelope.reply.give(Stopping())
            self._retire(cell)
            cell.feed.cut_all()

    # -- the drainer

    async def _drain(self, nursery: trio.Nursery) -> None:
        while True:
            while self._errands:
                function, arguments = self._errands.popleft()
                nursery.start_soon(function, *arguments, name=f"{arguments[0].address}: {function.__name__}")
            self._take_turns()
            if self._queue or self._errands:
                await trio.lowlevel.checkpoint()
            else:
                self._settled()
                self._sleeper = trio.lowlevel.current_task()
                await trio.lowlevel.wait_task_rescheduled(self._wake_abort)

    def _wake_abort(self, _: object) -> trio.lowlevel.Abort:
        self._sleeper = None
        return trio.lowlevel.Abort.SUCCEEDED

    def _wake(self) -> None:
        if self._sleeper is not None:
            trio.lowlevel.reschedule(self._sleeper)
            self._sleeper = None

    def _take_turns(self) -> None:
        end = perf_counter() + BUDGET
        queue, errands, chosen = self._queue, self._errands, self._around.choose is not None
        while queue:
            self._step(self._next() if chosen else queue.popleft())
            if errands or chosen or perf_counter() > end:
                return

    def _next(self) -> Cell:
        """Whose turn is next, when that is somebody's choice."""
        if self._around.choose is None or len(self._queue) == 1:
            return self._queue.popleft()
        index = self._around.choose([str(cell.address) for cell in self._queue])
        cell = self._queue[index]
        del self._queue[index]
        return cell

    def _step(self, cell: Cell) -> None:
        cell.queued = False
        mailbox = cell.mailbox
        if cell.phase not in AT_REST:
            return  # it was crashed or is at work; whoever ends that puts it back into the queue
        if cell.phase is EMPTY or mailbox.resync:
            self._begin_load(cell)
        elif mailbox:
            self._handle(cell, mailbox.take())

    def _schedule(self, cell: Cell) -> None:
        if not cell.queued and cell.phase in AT_REST and (cell.mailbox or cell.mailbox.resync):
            self._enqueue(cell)

    def _enqueue(self, cell: Cell) -> None:
        if not cell.queued:
            cell.queued = True
            self._queue.append(cell)
            self._wake()

    def _errand(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Have the drainer start a task that must be done before the pool may stop."""
        self._busy += 1
        self._start(function, *arguments)

    def _start(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._errands.append((function, arguments))
        self._wake()

    def _settled(self) -> None:
        if not self._busy and not self._queue:
            self._quiet.set()

    # -- turns

    def _handle(self, cell: Cell, envelope: Envelope) -> None:
        turn = self._turns.get(type(envelope.message))
        if envelope.reply is not None and envelope.deadline <= trio.current_time():
            envelope.reply.give(TimedOut())
            self._schedule(cell)
        elif turn is not None:
            self._take_turn(cell, envelope, turn)
        else:
            self._take_control(cell, envelope)

    def _take_turn(self, cell: Cell, envelope: Envelope, turn: Turn) -> None:
        cell.envelope = envelope
        try:
            if self._observe is not None:
                self._observe(cell.address, envelope.message, "before")
            answer = turn(cell.actor, envelope.message)
            if type(answer) is CoroutineType:
                cell.phase = Phase.WAITING
                self._errand(self._waiting_turn, cell, envelope, answer)
                return
            if self._observe is not None:
                self._observe(cell.address, envelope.message, "after")
        except Exception as error:
            self._fail(cell, envelope, error)
        else:
            self._finish(cell, envelope, answer)

    def _take_control(self, cell: Cell, envelope: Envelope) -> None:
        message = envelope.message
        try:
            answer = self._subscribe(cell, envelope, message) if isinstance(message, Subscribe) else self.portrait(cell)
        except Exception as error:
            self._fail(cell, envelope, error)
        else:
            self._finish(cell, envelope, answer)

    def _subscribe(self, cell: Cell, envelope: Envelope, message: Subscribe) -> None:
        """Join the feed, unless the asker has gone: nobody would ever take this subscriber out again."""
        if (envelope.reply is not None and envelope.reply.left) or cell.actor is None:
            return
        cell.feed.subscribe(message.subscriber)
        try:
            cell.actor.subscribed(message.subscriber)
        except BaseException:
            cell.feed.unsubscribe(message.subscriber)
            raise

    async def _waiting_turn(self, cell: Cell, envelope: Envelope, turn: Coroutine[Any, Any, object]) -> None:
        cell.started_at = trio.current_time()
        cell.task = trio.lowlevel.current_task()
        self._watched[cell] = None
        error: Exception | None = None
        answer: object = None
        try:
            with trio.CancelScope(deadline=cell.started_at + LONGEST_TURN) as scope:
                answer = await turn
                if self._observe is not None:
                    self._observe(cell.address, envelope.message, "after")
            if scope.cancelled_caught:
                error = Overdue(f"over {LONGEST_TURN:g} s")
        except Exception as raised:
            error = raised
        cell.task = cell.waits_for = None
        del self._watched[cell]
        self._busy -= 1
        if error is None:
            self._finish(cell, envelope, answer)
        else:
            self._fail(cell, envelope, error)
        self._settled()

    def _finish(self, cell: Cell, envelope: Envelope, answer: object) -> None:
        cell.envelope = None
        cell.phase = READY
        if envelope.reply is not None:
            envelope.reply.give(answer)
        if cell.listened is not None:
            self._catch_up(cell, cell.listened)
        if cell.mailbox or cell.mailbox.resync:
            self._schedule(cell)

    def _catch_up(self, cell: Cell, feed: Feed) -> None:
        for error in feed.catch_up() if feed.behind else ():
            self._around.record(
                "stream.cut", actor=str(cell.address), error=describe(error) if error else "too slow", decision="cut"
            )

    # -- what can go wrong

    def _turn_away(self, cell: Cell, envelope: Envelope) -> None:
        """The pool is stopping, and memory goes with it; or the actor is in quarantine, and will be loaded anew."""
        if envelope.reply is not None:
            envelope.reply.give(Stopping() if self._closed else Quarantined(str(cell.address)))

    def _overflow(self, cell: Cell, envelope: Envelope) -> None:
        asked = envelope.reply is not None
        if asked or not cell.mailbox.resync:
            decision = "refused" if asked else "reload from rows"
            self._around.record("mailbox.full", **self._facts(cell, envelope), decision=decision)
        if envelope.reply is not None:
            envelope.reply.give(Busy(str(cell.address)))
        else:
            cell.mailbox.collapse()

    def _fail(self, cell: Cell, envelope: Envelope, error: Exception) -> None:
        if isinstance(error, Unavailable):
            self._postpone(cell, envelope, error)
        else:
            self._crash(cell, envelope, error)

    def _postpone(self, cell: Cell, envelope: Envelope, error: Unavailable) -> None:
        """No database: nothing was committed and memory is right, so this is no crash."""
        cell.envelope = None
        if envelope.reply is not None:
            envelope.reply.give(error)
            cell.phase = READY
            self._schedule(cell)
        else:
            cell.mailbox.put_back(envelope)
            self._rest(cell, STORAGE_REST, READY)

    def _crash(self, cell: Cell, envelope: Envelope | None, error: Exception) -> None:
        now = trio.current_time()
        self._retire(cell)
        cell.crashes = cell.crashes if cell.crashes is not None else deque()
        cell.crashes.append(now)
        crashes = cell.crashes_since(now - self._policy.period)
        rest = self._policy.rest(crashes, self._around.chance)
        facts = self._facts(cell, envelope) | {
            "error": describe(error), "place": place(error), "crashes_60s": crashes
        }  # fmt: skip
        if envelope is not None:
            self._dispose(cell, envelope, error)
        if rest is None:
            self._quarantine(cell, facts)
        else:
            self._around.record("actor.crashed", **facts, decision=f"restart in {rest:.2g} s")
            self._rest(cell, rest, EMPTY)

    def _dispose(self, cell: Cell, envelope: Envelope, error: Exception) -> None:
        """What becomes of the message in whose turn an actor crashed: the asker is told, a hint is tried once more."""
        if envelope.reply is not None:
            envelope.reply.give(Crashed(str(cell.address)))
        elif envelope.crashes < self._policy.retries:
            cell.mailbox.put_back(replace(envelope, crashes=envelope.crashes + 1))
        else:
            self._around.record("message.parked", **self._facts(cell, envelope), error=describe(error))
            self._around.park(cell.address, envelope, error)

    def _quarantine(self, cell: Cell, facts: dict[str, object]) -> None:
        cell.phase = Phase.QUARANTINED
        self._watched[cell] = None
        cell.release_at = trio.current_time() + self._policy.quarantine
        for waiting in cell.mailbox.empty():
            self._turn_away(cell, waiting)
        self._around.record("actor.quarantined", **facts, decision=f"no messages for {self._policy.quarantine:g} s")
        cell.feed.cut_all()

    def _rest(self, cell: Cell, seconds: float, afterwards: Phase) -> None:
        cell.phase = Phase.RESTING
        self._start(self._resting, cell, seconds, afterwards)

    async def _resting(self, cell: Cell, seconds: float, afterwards: Phase) -> None:
        await trio.sleep(seconds)
        cell.phase = afterwards
        self._enqueue(cell)

    # -- incarnations

    def _begin_load(self, cell: Cell) -> None:
        self._retire(cell)
        cell.phase = Phase.LOADING
        cell.incarnation += 1
        self._errand(self._loading, cell)

    async def _loading(self, cell: Cell) -> None:
        cell.mailbox.resync = False  # before the rows are read: what happens meanwhile asks for another reading
        error: Exception | None = None
        try:
            with trio.fail_after(LONGEST_TURN):
                # Known to the cell before it loads: whatever it registers elsewhere is taken back when it fails.
                cell.actor = self._make(cell)
                await cell.actor.load()
        except Exception as raised:
            error = raised
        self._busy -= 1
        if error is None:
            self._loaded(cell)
        elif isinstance(error, Unavailable):
            self._starve(cell, error)
        else:
            self._crash(cell, None, error)
        self._settled()

    def _loaded(self, cell: Cell) -> None:
        cell.phase = READY
        if cell.incarnation > 1:
            self._around.record(
                "actor.restored", actor=str(cell.address), incarnation=cell.incarnation, depth=len(cell.mailbox),
                restored=holdings(cell.actor),
            )  # fmt: skip
        if cell.listened is not None:
            self._catch_up(cell, cell.listened)
        self._schedule(cell)

    def _starve(self, cell: Cell, error: Unavailable) -> None:
        """No rows to load from. Askers are told; hints need not be kept, since rows say all they say."""
        self._retire(cell)
        for waiting in cell.mailbox.empty():
            if waiting.reply is not None:
                waiting.reply.give(error)
        if cell.subscribers:
            self._rest(cell, STORAGE_REST, EMPTY)
        else:
            cell.phase = EMPTY
            cell.mailbox.resync = False

    def _retire(self, cell: Cell) -> None:
        actor, cell.actor, cell.envelope = cell.actor, None, None
        try:
            if actor is not None:
                actor.retired()
        except Exception as error:  # it has no say in whether it goes
            self._around.record(
                "actor.crashed", **self._facts(cell, None), error=describe(error), place=place(error),
                decision="retired all the same",
            )  # fmt: skip

    # -- keeping house, from time to time

    def keep(self) -> None:
        """Log slow turns, end quarantines, let idle actors sleep."""
        now = trio.current_time()
        for cell in list(self._watched):
            if cell.phase is Phase.WAITING and cell.started_at < now - SLOW_TURN:
                self._report_slow(cell, now)
            elif cell.phase is Phase.QUARANTINED and cell.release_at <= now:
                self.release(cell)
        self._sweep(now)

    def _sweep(self, now: float) -> None:
        """Look at a part of the cells: at all of them at once, a hundred thousand would hold everybody up."""
        if now >= self._next_sweep and not self._unswept:
            self._next_sweep = now + min(SWEEP, self._idle)
            self._unswept = list(self.cells.values())
            self._shed(len(self.cells) - self._most_awake)
        for cell in self._unswept[-SWEPT_AT_ONCE:]:
            if cell.last_used <= now - self._idle:
                self._sleep(cell)
        del self._unswept[-SWEPT_AT_ONCE:]

    def _shed(self, excess: int) -> None:
        """Above the cap, those unused for longest go to sleep early."""
        if excess > 0:
            idle = [cell for cell in self.cells.values() if cell.idle]
            for cell in nsmallest(excess, idle, key=attrgetter("last_used")):
                self._sleep(cell)

    def _sleep(self, cell: Cell) -> None:
        if cell.idle and self.cells.get(cell.address.key) is cell:
            self._retire(cell)
            del self.cells[cell.address.key]

    def _report_slow(self, cell: Cell, now: float) -> None:
        if cell.task is None or cell.envelope is None:
            return
        frames = "".join(traceback.StackSummary.extract(cell.task.iter_await_frames()).format())
        self._around.record(
            "turn.slow", **self._facts(cell, cell.envelope), seconds=round(now - cell.started_at, 1), stack=frames
        )

    # -- portraits

    def census(self) -> dict[str, object]:
        """What an operator sees of the pool."""
        cells = self.cells.values()
        return {
            "awake": len(cells),
            "waiting": len(self._watched),
            "queued": len(self._queue),
            "subscribers": sum(cell.subscribers for cell in cells),
            "troubled": [str(c.address) for c in cells if c.phase in (Phase.RESTING, Phase.QUARANTINED)],
        }

    def portrait(self, cell: Cell) -> dict[str, object]:
        """What an operator sees of one actor."""
        return {
            "actor": str(cell.address),
            "phase": cell.phase.name.lower(),
            "incarnation": cell.incarnation,
            "depth": len(cell.mailbox),
            "subscribers": cell.subscribers,
            "holds": holdings(cell.actor),
        }

    def _facts(self, cell: Cell, envelope: Envelope | None) -> dict[str, object]:
        facts: dict[str, object] = {
            "actor": str(cell.address), "incarnation": cell.incarnation, "depth": len(cell.mailbox)
        }  # fmt: skip
        if envelope is not None:
            facts |= {
                "message": envelope.kind, "message_id": envelope.id, "request_id": envelope.origin.request_id,
                "causes": list(envelope.origin.causes),
            }  # fmt: skip
        return facts


def holdings(actor: Actor | None) -> str:
    """What an actor says of itself; one that can't is none the worse for it."""
    try:
        return actor.describe() if actor is not None else ""
    except Exception as error:
        return f"can't be described: {type(error).__name__}"


def describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def place(error: BaseException) -> str:
    """`file:line` of the innermost frame, as the supervision log gives it."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno}" if frames else ""
