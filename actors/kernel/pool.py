"""All actors of one kind: their cells, the drainer that gives them their turns, and what happens when one crashes.

The drainer is one task with a run queue of cells that have mail. It runs plain turns inline, at most a millisecond of
them between two checkpoints, and starts a task for each turn that waits, so that an idle actor costs no task and a
fan-out costs no task switch. Incarnations and turns are started from the drainer's own task and never from a caller's:
`start_soon` would hand them the caller's context.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from time import perf_counter
from types import CoroutineType
from typing import Any

import trio

from .actor import Actor, Turn
from .address import Address
from .cell import AT_REST, EMPTY, READY, Cell, CellPhase
from .crowd import Crowd
from .envelope import Envelope
from .errors import Busy, Quarantined, Stopping, TimedOut, describe, place
from .feed import Feed
from .mailbox import CROWDED
from .passivation import Passivation
from .policy import RestartPolicy
from .portraits import facts_of, holdings, portrait
from .recovery import Recovery
from .surroundings import PAUSE, Chooser, Subscribe, Surroundings
from .watchdog import Overdue, Running, look_at_work
from .work import Work

BUDGET = 0.001  # seconds of plain turns between two checkpoints
LONGEST_BATCH = 50  # plain turns between two checkpoints in simulation
IDLE = 600.0  # seconds without a message until an actor goes to sleep


protected = trio.lowlevel.enable_ki_protection


class ActorPool:
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
        self.crowd = Crowd()  # who has so much to do that those who tell many should wait
        self._make = make
        self._turns = turns
        self._around = surroundings
        self._observe = surroundings.observe
        self._choose = surroundings.choose
        self._queue: deque[Cell] = deque()
        self._errands: deque[tuple[Callable[..., Any], tuple[Any, ...]]] = deque()  # tasks for the drainer to start
        self._sleeper: trio.lowlevel.Task | None = None  # the drainer, when it has nothing to do
        self._busy = 0  # loads, waiting turns and rests under way
        self._closed = True
        self._quiet = trio.Event()
        self._working: dict[Work, None] = {}  # waiting turns and loads, in the order in which they began
        self._recovery = Recovery(self, surroundings, policy or RestartPolicy())
        self.release = self._recovery.release
        self._current: Cell | None = None  # the cell of the latest plain turn
        self.condemned: Envelope | None = None  # the message of a plain turn that the watchdog found overdue
        self._passivation = Passivation(
            self.cells, self.retire, most_awake=most_awake, idle=idle, simulated=surroundings.choose is not None
        )
        self._most_awake = most_awake
        self._some_should_sleep = False

    # -- the outside: called by the runtime, never waits

    def cell(self, key: str, now: float | None = None) -> Cell:
        """The cell at this key; an address is always valid."""
        cell = self.cells.get(key)
        if cell is None:
            cell = self.cells[key] = Cell(Address(self.kind, key), trio.current_time() if now is None else now)
            self._passivation.add(cell)
        return cell

    def post(self, cell: Cell, envelope: Envelope) -> None:
        """Put a message into a mailbox, or say at once why not."""
        if envelope.reply is not None:
            cell.last_used = trio.current_time()
        if self._closed or cell.phase is CellPhase.QUARANTINED:
            self.turn_away(cell, envelope)
        elif not cell.mailbox.room(envelope):
            self._overflow(cell, envelope)
        else:
            cell.mailbox.append(envelope)
            if len(cell.mailbox) >= CROWDED:
                self.crowd.note(cell)
        self.schedule(cell)

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
        if self._closed or cell.phase is CellPhase.QUARANTINED:
            self.turn_away(cell, envelope)
        else:
            cell.mailbox.put_control(envelope)
        self.schedule(cell)

    def answer_now(self, cell: Cell, envelope: Envelope, now: float) -> bool:
        """Take the turn for an asker at once when the actor is at rest: no task switch for an answer from memory."""
        if cell.phase is not READY or cell.mailbox or cell.mailbox.resync or self._closed:
            return False
        if self._choose is not None and self._choose((str(cell.address), PAUSE)) != 0:
            return False
        cell.last_used = now
        self._take_turn(cell, envelope, self._turns[type(envelope.message)])
        return True

    def handles(self, message: object) -> bool:
        return type(message) in self._turns

    def resync(self, cell: Cell) -> None:
        """Have the actor read its rows again before it takes its next message."""
        if not self._closed:
            cell.mailbox.resync = True
            self.schedule(cell)

    def cut_streams(self) -> None:
        """Let go of every subscriber: the process is about to stop."""
        for cell in list(self.cells.values()):
            cell.feed.cut_all()

    # -- life of the pool

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Give turns until `stopping` is set and all mail is handled. Every asker gets an answer.

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
        self._working.clear()
        self._recovery.clear()
        self._passivation.clear()
        cells = list(self.cells.values())
        self.cells.clear()
        for cell in cells:
            waiting = cell.mailbox.empty()
            for envelope in [cell.envelope, *waiting] if cell.envelope else waiting:
                if envelope.reply:
                    envelope.reply.give(Stopping())
            self.retire(cell)
            cell.feed.cut_all()

    # -- the drainer

    async def _drain(self, nursery: trio.Nursery) -> None:
        while True:
            while self._errands:
                function, arguments = self._errands.popleft()
                nursery.start_soon(function, *arguments, name=f"{arguments[0].address}: {function.__name__}")
            self._take_turns()
            if self._some_should_sleep or len(self.cells) > self._most_awake:
                self._some_should_sleep = self._passivation.run_slice(trio.current_time())
            if self._queue or self._errands or self._some_should_sleep:
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
        if self._choose is not None:
            self._take_chosen_turns(self._choose)
            return
        end = perf_counter() + BUDGET
        queue, errands = self._queue, self._errands
        while queue:
            self._step(queue.popleft())
            if errands or perf_counter() > end:
                return

    def _take_chosen_turns(self, choose: Chooser) -> None:
        """The same in simulation, where the budget is a choice and not a time: real time would not replay."""
        queue = self._queue
        for taken in range(LONGEST_BATCH):
            names = [str(cell.address) for cell in queue] + ([PAUSE] if taken else [])
            index = choose(names) if len(names) > 1 else 0
            if index == len(queue):
                return  # no mail is left, or other tasks run first
            cell = queue[index]
            del queue[index]
            self._step(cell)
            if self._errands:
                return

    def _step(self, cell: Cell) -> None:
        cell.queued = False
        mailbox = cell.mailbox
        if cell.phase not in AT_REST:
            return  # it was crashed or is at work; whoever ends that puts it back into the queue
        if cell.phase is EMPTY or mailbox.resync:
            if cell.incarnation or mailbox.resync or mailbox.wanted:  # else all that woke it have left again
                self._begin_load(cell)
        elif mailbox:
            self._handle(cell, mailbox.take())

    def schedule(self, cell: Cell) -> None:
        if not cell.queued and cell.phase in AT_REST and (cell.mailbox or cell.mailbox.resync):
            self.enqueue(cell)

    def enqueue(self, cell: Cell) -> None:
        if not cell.queued:
            cell.queued = True
            self._queue.append(cell)
            self._wake()

    def _errand(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Have the drainer start a task that must be done before the pool may stop."""
        self._busy += 1
        self.start(function, *arguments)

    def start(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._errands.append((function, arguments))
        self._wake()

    def _settled(self) -> None:
        if not self._busy and not self._queue:
            self._quiet.set()

    # -- turns

    def _handle(self, cell: Cell, envelope: Envelope) -> None:
        turn = self._turns.get(type(envelope.message))
        if envelope.reply is not None and (envelope.reply.left or envelope.deadline <= trio.current_time()):
            envelope.reply.give(TimedOut())
            self.schedule(cell)
        elif turn is not None:
            self._take_turn(cell, envelope, turn)
        else:
            self._take_control(cell, envelope)

    # Whatever comes out of a turn is the turn's own error and crashes its actor: the functions below are protected, so
    # that Trio raises a real Ctrl-C at the main task's next checkpoint instead of inside a turn.

    @protected
    def _take_turn(self, cell: Cell, envelope: Envelope, turn: Turn) -> None:
        cell.envelope = envelope
        self._current = cell
        try:
            if self._observe is not None:
                self._observe(cell.address, envelope.message, "before")
            answer = turn(cell.actor, envelope.message)
            if type(answer) is CoroutineType:
                cell.phase = CellPhase.WAITING
                self._errand(self._waiting_turn, cell, envelope, answer)
                return
            if self._observe is not None:
                self._observe(cell.address, envelope.message, "after")
            if self.condemned is envelope:
                raise Overdue
        except BaseException as error:
            self._recovery.fail(cell, envelope, error)
        else:
            self._finish(cell, envelope, answer)

    @protected
    def _take_control(self, cell: Cell, envelope: Envelope) -> None:
        message = envelope.message
        try:
            answer = self._subscribe(cell, message) if isinstance(message, Subscribe) else portrait(cell)
        except BaseException as error:
            self._recovery.fail(cell, envelope, error)
        else:
            self._finish(cell, envelope, answer)

    def _subscribe(self, cell: Cell, message: Subscribe) -> None:
        if cell.actor is None:
            return
        cell.feed.subscribe(message.subscriber)
        try:
            cell.actor.subscribed(message.subscriber)
        except BaseException:
            cell.feed.unsubscribe(message.subscriber)
            raise

    @protected
    async def _waiting_turn(self, cell: Cell, envelope: Envelope, turn: Coroutine[Any, Any, object]) -> None:
        work = self._begin(cell, envelope)
        answer, error = await work.see_through(turn, self._observe)
        if not self._owns_cell(work):
            return
        if error is None:
            self._finish(cell, envelope, answer)
        else:
            self._recovery.fail(cell, envelope, error)
        self._settled()

    def _begin(self, cell: Cell, envelope: Envelope | None) -> Work:
        cell.work = work = Work(cell, envelope)
        self._working[work] = None
        return work

    def _owns_cell(self, work: Work) -> bool:
        """Take note that a turn or load has ended. False if the watchdog has abandoned it before."""
        if work.abandoned:
            self._make_up_for(work)
            return False
        work.cell.work = None
        del self._working[work]
        self._busy -= 1
        return True

    def _finish(self, cell: Cell, envelope: Envelope, answer: object) -> None:
        cell.envelope = None
        cell.phase = READY
        if envelope.reply is not None:
            envelope.reply.give(answer)
        if cell.listened is not None:
            self._catch_up(cell, cell.listened)
        if cell.mailbox or cell.mailbox.resync:
            self.schedule(cell)

    def _catch_up(self, cell: Cell, feed: Feed) -> None:
        for error in feed.catch_up() if feed.has_news else ():
            self._around.record(
                "stream.cut", actor=str(cell.address), error=describe(error) if error else "too slow", decision="cut"
            )
        if feed.is_crowded:
            self.crowd.note(cell)

    # -- what can go wrong

    def turn_away(self, cell: Cell, envelope: Envelope) -> None:
        """The pool is stopping, and memory goes with it; or the actor is in quarantine, and will be loaded anew."""
        if envelope.reply is not None:
            envelope.reply.give(Stopping() if self._closed else Quarantined(str(cell.address)))

    def _overflow(self, cell: Cell, envelope: Envelope) -> None:
        asked = envelope.reply is not None
        if asked or not cell.mailbox.resync:
            decision = "refused" if asked else "reload from rows"
            self._around.record("mailbox.full", **facts_of(cell, envelope), decision=decision)
        if envelope.reply is not None:
            envelope.reply.give(Busy(str(cell.address)))
        else:
            cell.mailbox.collapse()

    # -- incarnations

    def _begin_load(self, cell: Cell) -> None:
        self.retire(cell)
        cell.phase = CellPhase.LOADING
        cell.incarnation += 1
        self._errand(self._loading, cell)

    @protected
    async def _loading(self, cell: Cell) -> None:
        cell.mailbox.resync = False  # before the rows are read: what happens meanwhile asks for another reading
        work = self._begin(cell, None)
        _, error = await work.see_through(self._load(cell))
        if not self._owns_cell(work):
            return
        if error is None:
            self._loaded(cell)
        elif isinstance(error, self._around.unavailable):
            self._recovery.starve(cell, error)
        else:
            self._recovery.crash(cell, None, error)
        self._settled()

    async def _load(self, cell: Cell) -> None:
        # Known to the cell before it loads: whatever it registers elsewhere is taken back when it fails.
        cell.actor = self._make(cell)
        await cell.actor.load()

    def _loaded(self, cell: Cell) -> None:
        cell.phase = READY
        if cell.incarnation > 1:
            self._around.record(
                "actor.restored", actor=str(cell.address), incarnation=cell.incarnation, depth=len(cell.mailbox),
                restored=holdings(cell.actor),
            )  # fmt: skip
        if cell.listened is not None:
            self._catch_up(cell, cell.listened)
        self.schedule(cell)

    def retire(self, cell: Cell) -> None:
        actor, cell.actor, cell.envelope = cell.actor, None, None
        if actor is not None:
            self._let_go(cell, actor)

    @protected
    def _let_go(self, cell: Cell, actor: Actor) -> None:
        try:
            actor.retired()
        except BaseException as error:  # it has no say in whether it goes
            self._around.record(
                "actor.crashed", **facts_of(cell, None), error=describe(error), place=place(error),
                decision="retired all the same",
            )  # fmt: skip

    # -- turns that take too long

    def running(self) -> Running | None:
        """The turn or load of this pool that keeps the loop busy at this instant. For the watchdog's thread."""
        cell = self._current
        if cell is not None and cell.phase is READY and (envelope := cell.envelope) is not None:
            return Running(cell, envelope, None)
        for work in list(self._working):  # one call into C: the loop's thread cannot change it meanwhile
            if work.task.coro.cr_running:
                return Running(work.cell, work.envelope, work)
        return None

    def _abandon_work(self, work: Work) -> None:
        """Take the cell away from a turn or load that does not end although it was cancelled, and crash the actor.

        Its task goes on, and so does its transaction if one is under way. That may still commit: then its rows and
        their promises in the outbox stand, although the asker was told of a crash, as with a COMMIT in doubt. The next
        incarnation may have read its rows before that commit, so it reads them again when the task has ended. What the
        task does with its own incarnation meanwhile changes memory that nobody reads and a feed that nobody hears, and
        it can begin no further transaction.
        """
        cell = work.cell
        del self._working[work]
        self._busy -= 1
        cell.work = None
        work.abandoned = True
        work.actor = cell.actor
        if cell.actor is not None:
            cell.actor.detach()
        self._recovery.crash(cell, work.envelope, Overdue())
        self._settled()

    def _make_up_for(self, work: Work) -> None:
        """Abandoned work has ended. A load may have registered its cell since, a turn may have committed."""
        if work.actor is not None:
            self._let_go(work.cell, work.actor)
        if (cell := self.cells.get(work.cell.address.key)) is not None:
            self.resync(cell)

    # -- housekeeping

    def keep(self) -> None:
        """Log slow turns, crash overdue ones, end quarantines, put idle actors to sleep."""
        now = trio.current_time()
        for work in look_at_work(self._working, self._around.record, now):
            self._abandon_work(work)
        self._recovery.end_quarantines(now)
        self._passivation.look_at_listened()
        if self._passivation.run_slice(now):
            self._some_should_sleep = True
            self._wake()

    # -- portraits

    def census(self) -> dict[str, object]:
        """What an operator sees of the pool."""
        cells = self.cells.values()
        return {
            "awake": len(cells),
            "waiting": len(self._working),
            "queued": len(self._queue),
            "subscribers": sum(cell.subscribers for cell in cells),
            "troubled": [str(c.address) for c in cells if c.phase in (CellPhase.RESTING, CellPhase.QUARANTINED)],
        }
