"""The drainer: the task of a pool that gives its actors their turns.

It works off the run queue. It runs plain turns itself, at most a millisecond of them between two checkpoints, and
starts a task for each turn or load that waits, so that an idle actor costs no task and a fan-out costs no task switch.
All tasks are started from the drainer's own task and never from a caller's: `start_soon` would hand them the caller's
context. Control messages, which the runtime itself sends to actors, go before all other mail and have no turns.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from time import perf_counter
from types import CoroutineType

import trio

from .activation import Activation, wake_subscribers
from .actor import Turn
from .cell import AT_REST, EMPTY, READY, Cell, CellPhase, Incarnation
from .errors import Refused, TimedOut
from .feed import Subscriber
from .message import Control, Envelope
from .passivation import Passivation
from .pool_context import PAUSE, Chooser, PoolContext
from .recovery import Recovery
from .request_trail import DONE, Entry
from .watchdog import Running
from .work import Overdue, WorkInProgress

BUDGET = 0.001  # seconds of plain turns between two checkpoints
LONGEST_BATCH = 50  # plain turns between two checkpoints in simulation

# Every exception that a turn raises is its own error and crashes its actor, so a Ctrl-C must not be raised inside a
# turn. The functions that call turns are protected: Trio raises it at the next checkpoint of the main task.
protected = trio.lowlevel.enable_ki_protection


class Drainer:
    """Takes the turns of a pool's actors, one message each, in the order in which the actors got mail."""

    __slots__ = (
        "_activation", "_cells", "_choose", "_crowd", "_current", "_note", "_note_plain", "_observe", "_passivation",
        "_queue", "_record", "_recovery", "_schedule", "_trace", "_turns", "_work", "began", "overdue",
    )  # fmt: skip

    def __init__(
        self,
        pool: PoolContext,
        turns: Mapping[type, Turn],
        work: WorkInProgress,
        recovery: Recovery,
        activation: Activation,
        passivation: Passivation,
    ) -> None:
        self._turns = turns
        self._queue = pool.queue
        self._schedule = pool.queue.schedule
        self._cells = pool.cells
        self._crowd = pool.crowd
        self._record = pool.services.record
        self._observe = pool.services.observe
        self._choose = pool.services.choose
        self._trace = pool.services.trace
        self._note = pool.services.trail.note
        self._note_plain = pool.services.trail.note_plain
        self._work = work
        self._recovery = recovery
        self._activation = activation
        self._passivation = passivation
        self._current: Cell | None = None  # the cell of the latest plain turn
        self.began = 0.0  # when that turn began, by `perf_counter`
        self.overdue: Envelope | None = None  # the message of a plain turn that the watchdog found overdue

    async def run(self, nursery: trio.Nursery) -> None:
        """Take turns for ever. Tasks are started in `nursery`."""
        queue, passivation = self._queue, self._passivation
        while True:
            while queue.tasks:
                function, cell, arguments = queue.tasks.popleft()
                nursery.start_soon(function, cell, *arguments, name=f"{cell.address}: {function.__name__}")
            self._take_turns()
            if passivation.pending or passivation.is_over:
                passivation.pending = passivation.run_slice(trio.current_time())
            if queue.cells or queue.tasks or passivation.pending:
                await trio.lowlevel.checkpoint()
            else:
                self._work.check_done()
                queue.sleeper = trio.lowlevel.current_task()
                await trio.lowlevel.wait_task_rescheduled(queue.cancel_sleep)

    def answer_now(self, cell: Cell, envelope: Envelope, now: float) -> bool:
        """Take the turn of an ask at once if the actor is at rest: an answer from memory costs no task switch."""
        if cell.mailbox and cell.defers and self._choose is None:
            self._catch_up(cell)
        if cell.phase is not READY or cell.mailbox or cell.mailbox.resync or self._queue.closed:
            return False
        # In simulation a choice decides if the message goes into the queue instead.
        if self._choose is not None and self._choose((str(cell.address), PAUSE)) != 0:
            return False
        cell.last_used = now
        self._take_turn(cell, envelope, self._turns[type(envelope.message)])
        return True

    def running(self) -> Running | None:
        """Return the turn or load of this pool that keeps the loop busy at this instant. For the watchdog's thread."""
        cell = self._current
        if cell is not None and cell.phase is READY and (envelope := cell.envelope) is not None:
            return Running(cell, envelope, None)
        for work in list(self._work.working):  # one call into C: the loop's thread cannot change it meanwhile
            if work.task.coro.cr_running:
                return Running(work.cell, work.envelope, work)
        return None

    def _take_turns(self) -> None:
        if self._choose is not None:
            self._take_chosen_turns(self._choose)
            return
        end = perf_counter() + BUDGET
        cells, tasks = self._queue.cells, self._queue.tasks
        while cells:
            self._step(cells.popleft())
            if tasks or perf_counter() > end:
                return

    def _take_chosen_turns(self, choose: Chooser) -> None:
        """Take turns in simulation. The budget is a choice and not a time, because real time would not replay."""
        cells, tasks = self._queue.cells, self._queue.tasks
        for taken in range(LONGEST_BATCH):
            names = [str(cell.address) for cell in cells] + ([PAUSE] if taken else [])
            index = choose(names) if len(names) > 1 else 0
            if index == len(cells):
                return  # no mail is left, or other tasks run first
            cell = cells[index]
            del cells[index]
            self._step(cell)
            if tasks:
                return

    def _step(self, cell: Cell) -> None:
        cell.queued = False
        mailbox = cell.mailbox
        if cell.phase not in AT_REST:
            return  # it crashed or is working; the end of the pause or the work puts it back into the queue
        if cell.phase is EMPTY or mailbox.resync:
            if cell.incarnation or mailbox.resync or mailbox.wanted:  # else all askers that woke it have left
                self._activation.begin(cell)
        elif mailbox:
            envelope = mailbox.take()
            if envelope.reply is None and (turn := self._turns.get(type(envelope.message))) is not None:
                self._take_turn(cell, envelope, turn)  # a hint, as in a fan-out
                if mailbox and self._choose is None:
                    self._catch_up(cell)
            else:
                self._handle(cell, envelope)

    def _catch_up(self, cell: Cell) -> None:
        """Take the deferred turns, all in a row. In simulation each deferred turn is a choice instead."""
        mailbox = cell.mailbox
        while mailbox and mailbox[0].can_wait and cell.phase is READY and not mailbox.resync:
            envelope = mailbox.take()
            self._take_turn(cell, envelope, self._turns[type(envelope.message)])

    def _handle(self, cell: Cell, envelope: Envelope) -> None:
        turn = self._turns.get(type(envelope.message))
        if envelope.reply is not None and (envelope.reply.left or envelope.deadline <= trio.current_time()):
            envelope.reply.give(TimedOut())
            self._schedule(cell)
        elif turn is not None:
            self._take_turn(cell, envelope, turn)
        else:
            self._take_control(cell, envelope)

    @protected
    def _take_turn(self, cell: Cell, envelope: Envelope, turn: Turn) -> None:
        if self._trace is not None and envelope.origin.trace:
            envelope, turn = self._trace(cell.address, envelope, turn)
        cell.envelope = envelope
        self._current = cell
        self.began = perf_counter()
        try:
            if self._observe is not None:
                self._observe(cell.address, envelope.message, "before")
            answer = turn(cell.actor, envelope.message)
            if type(answer) is CoroutineType:
                cell.phase = CellPhase.WAITING
                self._work.start(self._waiting_turn, cell, envelope, answer)
                return
            if self._observe is not None:
                self._observe(cell.address, envelope.message, "after")
            if self.overdue is envelope:
                raise Overdue
        except BaseException as error:
            self._note(turn_entry(cell, envelope, self.began, type(error).__name__))
            self._recovery.fail(cell, envelope, error)
        else:
            origin = envelope.origin
            self._note_plain((
                "turn", self.began, perf_counter(), type(envelope.message), cell.address, envelope.id,
                origin.request_id, origin.causes, DONE,
            ))  # fmt: skip
            self._finish(cell, envelope, answer)

    @protected
    def _take_control(self, cell: Cell, envelope: Envelope) -> None:
        try:
            answer_control(cell, envelope.message)
        except BaseException as error:
            self._recovery.fail(cell, envelope, error)
        else:
            self._finish(cell, envelope, None)

    @protected
    async def _waiting_turn(self, cell: Cell, envelope: Envelope, turn: Coroutine[object, object, object]) -> None:
        work = self._work.begin(cell, envelope)
        answer, error = await work.result_of(turn, self._observe)
        began = perf_counter() - (trio.current_time() - work.started_at)
        if not self._work.end(work):
            return
        if error is None:
            self._note(turn_entry(cell, envelope, began, "refused" if type(answer) is Refused else DONE))
            self._finish(cell, envelope, answer)
        else:
            self._note(turn_entry(cell, envelope, began, type(error).__name__))
            self._recovery.fail(cell, envelope, error)
        self._work.check_done()

    def _finish(self, cell: Cell, envelope: Envelope, answer: object) -> None:
        cell.envelope = None
        cell.phase = READY
        if envelope.reply is not None:
            envelope.reply.give(answer)
        if cell.listened is not None:
            wake_subscribers(cell, cell.listened, self._crowd, self._record)
        if cell.mailbox or cell.mailbox.resync:
            self._schedule(cell)


def turn_entry(cell: Cell, envelope: Envelope, began: float, outcome: str) -> Entry:
    """Return the entry of a turn that ends now."""
    origin = envelope.origin
    return (
        "turn", began, perf_counter(), type(envelope.message), cell.address, envelope.id, origin.request_id,
        origin.causes, outcome,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Subscribe(Control[None]):
    """Join the feed."""

    subscriber: Subscriber


def answer_control(cell: Cell, message: object) -> None:
    """Execute a control message. Raises the error of the actor."""
    if isinstance(message, Subscribe) and cell.actor is not None:
        _subscribe(cell, cell.actor, message.subscriber)


def _subscribe(cell: Cell, actor: Incarnation, subscriber: Subscriber) -> None:
    cell.feed.subscribe(subscriber)
    try:
        actor.subscribed(subscriber)
    except BaseException:
        cell.feed.unsubscribe(subscriber)
        raise
