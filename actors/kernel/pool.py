"""All actors of one kind: their cells, the drainer that gives them their turns, and what happens when one crashes.

The drainer is one task with a run queue of cells that have mail. It runs plain turns inline, at most a millisecond of
them between two checkpoints, and starts a task for each turn that waits, so that an idle actor costs no task and a
fan-out costs no task switch. Incarnations and turns are started from the drainer's own task and never from a caller's:
`start_soon` would hand them the caller's context.
"""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import trio

from ...storage.engine import Unavailable
from .actor import Actor, Turn
from .address import Address
from .cell import Cell, Phase
from .envelope import Envelope
from .errors import Busy, Crashed, Quarantined, Stopping, TimedOut
from .feed import Subscriber
from .policy import RestartPolicy

BUDGET = 0.001  # seconds of plain turns between two checkpoints
SLOW_TURN = 1.0  # seconds until a turn is logged
LONGEST_TURN = 30.0  # seconds until a turn is given up and its actor restarted
STORAGE_REST = 0.5  # seconds until an actor that found no database tries again
IDLE = 600.0  # seconds without a message until an actor goes to sleep
SWEEP = 30.0  # seconds between two looks for idle actors


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
    ) -> None:
        self.kind = kind
        self.cells: dict[str, Cell] = {}
        self._make = make
        self._turns = turns
        self._around = surroundings
        self._policy = policy or RestartPolicy()
        self._most_awake = most_awake
        self._queue: deque[Cell] = deque()
        self._errands: deque[tuple[Callable[..., Any], tuple[Any, ...]]] = deque()  # tasks for the drainer to start
        self._sleeper: trio.lowlevel.Task | None = None  # the drainer, when it has nothing to do
        self._busy = 0  # loads, waiting turns and rests under way
        self._closed = True
        self._quiet = trio.Event()
        self._watched: dict[Cell, None] = {}  # cells in a waiting turn or in quarantine
        self._next_sweep = 0.0

    # -- the outside: called by the runtime, never waits

    def cell(self, key: str) -> Cell:
        """The cell at this key; an address is always valid."""
        cell = self.cells.get(key)
        if cell is None:
            cell = self.cells[key] = Cell(Address(self.kind, key))
        return cell

    def post(self, cell: Cell, envelope: Envelope, *, control: bool = False) -> None:
        """Put a message into a mailbox, or say at once why not."""
        cell.last_used = trio.current_time()
        if self._closed:
            self._decline(cell, envelope, Stopping())
        elif cell.phase is Phase.QUARANTINED:
            self._decline(cell, envelope, Quarantined(str(cell.address)))
        elif control:
            cell.mailbox.put_control(envelope)
        elif cell.mailbox.full:
            self._overflow(cell, envelope)
        else:
            cell.mailbox.put(envelope)
        self._schedule(cell)

    def answer_now(self, cell: Cell, envelope: Envelope) -> bool:
        """Take the turn for an asker at once when the actor is at rest: no task switch for an answer from memory."""
        if cell.phase is not Phase.READY or cell.mailbox or cell.mailbox.resync or self._around.choose or self._closed:
            return False
        cell.last_used = trio.current_time()
        self._take_turn(cell, envelope)
        return True

    def handles(self, message: object) -> bool:
        return type(message) in self._turns

    def resync(self, cell: Cell) -> None:
        """Have the actor read its rows again before it takes its next message."""
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
            cell.phase = Phase.EMPTY
            self._watched.pop(cell, None)
            self._around.record("actor.released", actor=str(cell.address), incarnation=cell.incarnation)
            self._enqueue(cell)

    # -- life of the pool

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Give turns until `stopping` is set and all mail is handled. Nobody is left without an answer."""
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
        cells, self.cells = list(self.cells.values()), {}
        for cell in cells:
            waiting = cell.mailbox.clear()
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
            if self._queue:
                self._take_turns()
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
        began = time.perf_counter()
        while self._queue:
            self._step(self._next())
            if self._around.choose or self._errands or time.perf_counter() - began > BUDGET:
                return

    def _next(self) -> Cell:
        if self._around.choose is None or len(self._queue) == 1:
            return self._queue.popleft()
        index = self._around.choose([str(cell.address) for cell in self._queue])
        cell = self._queue[index]
        del self._queue[index]
        return cell

    def _step(self, cell: Cell) -> None:
        cell.queued = False
        if cell.phase is Phase.EMPTY or (cell.phase is Phase.READY and cell.mailbox.resync):
            self._begin_load(cell)
        elif cell.phase is Phase.READY and cell.mailbox:
            self._handle(cell, cell.mailbox.take())
        self._schedule(cell)

    def _schedule(self, cell: Cell) -> None:
        if cell.phase in (Phase.READY, Phase.EMPTY) and (cell.mailbox or cell.mailbox.resync):
            self._enqueue(cell)

    def _enqueue(self, cell: Cell) -> None:
        if not cell.queued:
            cell.queued = True
            self._queue.append(cell)
            self._wake()

    def _errand(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._busy += 1
        self._errands.append((function, arguments))
        self._wake()

    def _settled(self) -> None:
        if not self._busy and not self._queue:
            self._quiet.set()

    # -- turns

    def _handle(self, cell: Cell, envelope: Envelope) -> None:
        if envelope.deadline <= trio.current_time():
            if envelope.reply:
                envelope.reply.give(TimedOut())
            return
        message = envelope.message
        if isinstance(message, Subscribe):
            self._subscribe(cell, envelope, message.subscriber)
        elif isinstance(message, Inspect):
            self._finish(cell, envelope, self.portrait(cell))
        else:
            self._take_turn(cell, envelope)

    def _subscribe(self, cell: Cell, envelope: Envelope, subscriber: Subscriber) -> None:
        cell.feed.subscribe(subscriber)
        if cell.actor is not None:
            cell.actor.subscribed(subscriber)
        self._finish(cell, envelope, None)

    def _take_turn(self, cell: Cell, envelope: Envelope) -> None:
        cell.envelope = envelope
        try:
            self._observe(cell, envelope, "before")
            answer = self._turns[type(envelope.message)](cell.actor, envelope.message)
            if isinstance(answer, Coroutine):
                cell.phase = Phase.WAITING
                self._errand(self._waiting_turn, cell, envelope, answer)
                return
            self._observe(cell, envelope, "after")
        except Exception as error:
            self._crash(cell, envelope, error)
        else:
            self._finish(cell, envelope, answer)

    async def _waiting_turn(self, cell: Cell, envelope: Envelope, turn: Coroutine[Any, Any, object]) -> None:
        cell.started_at = trio.current_time()
        cell.task = trio.lowlevel.current_task()
        cell.scope = trio.CancelScope(deadline=cell.started_at + LONGEST_TURN)
        self._watched[cell] = None
        error: Exception | None = None
        answer: object = None
        with cell.scope:
            try:
                answer = await turn
                self._observe(cell, envelope, "after")
            except Exception as raised:
                error = raised
        if cell.scope.cancelled_caught:
            error = Overdue(f"over {LONGEST_TURN:g} s")
        cell.scope = cell.task = cell.waits_for = None
        del self._watched[cell]
        self._busy -= 1
        if error is None:
            self._finish(cell, envelope, answer)
        elif isinstance(error, Unavailable):
            self._postpone(cell, envelope, error)
        else:
            self._crash(cell, envelope, error)
        self._settled()

    def _observe(self, cell: Cell, envelope: Envelope, when: Literal["before", "after"]) -> None:
        if self._around.observe is not None:
            self._around.observe(cell.address, envelope.message, when)

    def _finish(self, cell: Cell, envelope: Envelope, answer: object) -> None:
        cell.envelope = None
        cell.phase = Phase.READY
        if envelope.reply:
            envelope.reply.give(answer)
        self._catch_up(cell)
        self._schedule(cell)

    def _catch_up(self, cell: Cell) -> None:
        for error in cell.feed.catch_up():
            self._around.record(
                "stream.cut", actor=str(cell.address), error=describe(error) if error else "too slow", decision="cut"
            )

    # -- what can go wrong

    def _decline(self, cell: Cell, envelope: Envelope, error: Exception) -> None:
        if envelope.reply:
            envelope.reply.give(error)
        else:
            cell.mailbox.resync = True

    def _overflow(self, cell: Cell, envelope: Envelope) -> None:
        if not cell.mailbox.resync or envelope.reply:
            self._around.record(
                "mailbox.full",
                **self._facts(cell, envelope),
                decision="refused" if envelope.reply else "reload from rows",
            )
        self._decline(cell, envelope, Busy(str(cell.address)))

    def _postpone(self, cell: Cell, envelope: Envelope, error: Unavailable) -> None:
        """No database: nothing was committed and memory is right, so this is no crash."""
        cell.envelope = None
        if envelope.reply:
            envelope.reply.give(error)
            cell.phase = Phase.READY
            self._schedule(cell)
        else:
            cell.mailbox.put_back(envelope)
            self._rest(cell, STORAGE_REST, Phase.READY)

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
            self._rest(cell, rest, Phase.EMPTY)

    def _dispose(self, cell: Cell, envelope: Envelope, error: Exception) -> None:
        """What becomes of the message in whose turn an actor crashed: the asker is told, a hint is tried once more."""
        envelope.crashes += 1
        if envelope.reply:
            envelope.reply.give(Crashed(str(cell.address)))
        elif envelope.crashes <= self._policy.retries:
            cell.mailbox.put_back(envelope)
        else:
            self._around.record("message.parked", **self._facts(cell, envelope), error=describe(error))
            self._around.park(cell.address, envelope, error)

    def _quarantine(self, cell: Cell, facts: dict[str, object]) -> None:
        cell.phase = Phase.QUARANTINED
        self._watched[cell] = None
        cell.release_at = trio.current_time() + self._policy.quarantine
        for waiting in cell.mailbox.clear():
            self._decline(cell, waiting, Quarantined(str(cell.address)))
        self._around.record("actor.quarantined", **facts, decision=f"no messages for {self._policy.quarantine:g} s")
        cell.feed.cut_all()

    def _rest(self, cell: Cell, seconds: float, afterwards: Phase) -> None:
        cell.phase = Phase.RESTING
        self._errand(self._resting, cell, seconds, afterwards)

    async def _resting(self, cell: Cell, seconds: float, afterwards: Phase) -> None:
        await trio.sleep(seconds)
        self._busy -= 1
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
        actor = self._make(cell)
        try:
            with trio.fail_after(LONGEST_TURN):
                await actor.load()
        except Unavailable as error:
            self._busy -= 1
            self._starve(cell, error)
        except Exception as error:
            self._busy -= 1
            cell.actor = actor
            self._crash(cell, None, error)
        else:
            self._busy -= 1
            self._loaded(cell, actor)
        self._settled()

    def _loaded(self, cell: Cell, actor: Actor) -> None:
        cell.actor = actor
        cell.phase = Phase.READY
        if cell.incarnation > 1:
            self._around.record(
                "actor.restored", actor=str(cell.address), incarnation=cell.incarnation, depth=len(cell.mailbox),
                restored=actor.describe(),
            )  # fmt: skip
        self._catch_up(cell)
        self._schedule(cell)

    def _starve(self, cell: Cell, error: Unavailable) -> None:
        """No rows to load from. Askers are told; hints need not be kept, since rows say all they say."""
        for waiting in cell.mailbox.clear():
            self._decline(cell, waiting, error)
        if len(cell.feed):
            self._rest(cell, STORAGE_REST, Phase.EMPTY)
        else:
            cell.phase = Phase.EMPTY
            cell.mailbox.resync = False

    def _retire(self, cell: Cell) -> None:
        actor, cell.actor, cell.envelope = cell.actor, None, None
        if actor is not None:
            actor.retired()

    # -- keeping house, from time to time

    def keep(self) -> None:
        """Log slow turns, end quarantines, let idle actors sleep."""
        now = trio.current_time()
        for cell in list(self._watched):
            if cell.phase is Phase.WAITING and cell.started_at < now - SLOW_TURN:
                self._report_slow(cell, now)
            elif cell.phase is Phase.QUARANTINED and cell.release_at <= now:
                self.release(cell)
        if now >= self._next_sweep:
            self._next_sweep = now + SWEEP
            self._sweep(now)

    def _sweep(self, now: float) -> None:
        for cell in list(self.cells.values()):
            if cell.idle and cell.last_used <= now - IDLE:
                self._sleep(cell)
        excess = len(self.cells) - self._most_awake
        if excess > 0:
            idle = sorted((cell for cell in self.cells.values() if cell.idle), key=lambda cell: cell.last_used)
            for cell in idle[:excess]:
                self._sleep(cell)

    def _sleep(self, cell: Cell) -> None:
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
            "subscribers": sum(len(cell.feed) for cell in cells),
            "troubled": [str(c.address) for c in cells if c.phase in (Phase.RESTING, Phase.QUARANTINED)],
        }

    def portrait(self, cell: Cell) -> dict[str, object]:
        """What an operator sees of one actor."""
        return {
            "actor": str(cell.address),
            "phase": cell.phase.name.lower(),
            "incarnation": cell.incarnation,
            "depth": len(cell.mailbox),
            "subscribers": len(cell.feed),
            "holds": cell.actor.describe() if cell.actor else "",
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


def describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def place(error: BaseException) -> str:
    """`file:line` of the innermost frame, as the supervision log gives it."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno}" if frames else ""
