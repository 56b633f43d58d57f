"""Recovery from a failed turn or load: back-off, quarantine, and the handling of the message.

Restarts wait 0, 0.1, 0.5, 2, then 10 s. The sixth crash in a minute puts the actor into quarantine for ten minutes. A
hint that crashes its actor twice is parked in the table `dead_letters`.

It ends the incarnation of the actor, as a reload, sleep and the stop of the pool do, and says when the next one begins.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

import trio

from .cell import EMPTY, READY, Cell, CellPhase, Incarnation, facts_of
from .errors import Crashed, describe, place
from .mailbox_writer import refuse
from .message import Envelope
from .pool_context import PoolContext, Record

STORAGE_REST = 0.5  # seconds until an actor that found no database tries again
CRASHES_KEPT = 256  # of a pool, for operators


@dataclass(frozen=True, slots=True)
class Crash:
    """One crash of an actor, as operators see it. The text of the error may quote people: the log has it, redacted."""

    address: str
    ago: float  # seconds
    message: str  # `load` if it failed to read its rows
    message_id: int | None
    request_id: str
    error: str  # its class
    place: str


class Recovery:
    """Recovery for the actors of one pool."""

    __slots__ = ("_latest", "_policy", "_quarantined", "_queue", "_services", "crashes", "parked", "quarantines")

    def __init__(self, pool: PoolContext, policy: RestartPolicy) -> None:
        self._queue = pool.queue
        self._services = pool.services
        self._policy = policy
        self._quarantined: dict[Cell, None] = {}
        self._latest: deque[tuple[float, Crash]] = deque(maxlen=CRASHES_KEPT)
        # Since the process started.
        self.crashes = 0
        self.quarantines = 0
        self.parked = 0

    def fail(self, cell: Cell, envelope: Envelope, error: BaseException) -> None:
        """Handle an error that a turn has raised."""
        if isinstance(error, self._services.unavailable):
            self._postpone(cell, envelope, error)
        else:
            self.crash(cell, envelope, error)

    def handle_unavailable(self, cell: Cell, error: BaseException) -> None:
        """Handle a load that found no database.

        Askers get an error. Hints are dropped: the rows contain their news.
        """
        retire(cell, self._services.record)
        for waiting in cell.mailbox.empty():
            if waiting.reply is not None:
                waiting.reply.give(error)
        if cell.subscribers:
            self._rest(cell, STORAGE_REST, EMPTY)
        else:
            cell.phase = EMPTY
            cell.mailbox.resync = False

    def crash(self, cell: Cell, envelope: Envelope | None, error: BaseException) -> None:
        """Discard the actor's memory and decide when the next incarnation begins."""
        now = trio.current_time()
        self.crashes += 1
        retire(cell, self._services.record)
        cell.crashes = cell.crashes if cell.crashes is not None else deque()
        cell.crashes.append(now)
        crashes = cell.crashes_since(now - self._policy.period)
        rest = self._policy.rest(crashes, self._services.chance)
        facts = facts_of(cell, envelope) | {
            "error": describe(error), "place": place(error), "crashes_60s": crashes
        }  # fmt: skip
        self._latest.append((now, crash_of(cell, envelope, error)))
        if envelope is not None:
            self._dispose(cell, envelope, error)
        if rest is None:
            self._quarantine(cell, facts)
        else:
            self._services.record("actor.crashed", **facts, decision=f"restart in {rest:.2g} s")
            self._rest(cell, rest, EMPTY)

    def release(self, cell: Cell, decision: str = "") -> None:
        """End a quarantine."""
        if cell.phase is CellPhase.QUARANTINED:
            cell.crashes = None
            cell.phase = EMPTY
            self._quarantined.pop(cell, None)
            self._services.record(
                "actor.released", actor=str(cell.address), incarnation=cell.incarnation, decision=decision
            )
            self._queue.enqueue(cell)

    def end_quarantines(self, now: float) -> None:
        """Release the actors whose quarantine is over."""
        for cell in [cell for cell in self._quarantined if cell.release_at <= now]:
            self.release(cell)

    def crashes_of(self, address: str, now: float) -> list[Crash]:
        """Return the latest crashes of an actor, as far as they are remembered, the latest last."""
        return [replace(crash, ago=now - at) for at, crash in list(self._latest) if crash.address == address]

    def clear(self) -> None:
        """Forget all cells, because the pool has stopped."""
        self._quarantined.clear()

    def _postpone(self, cell: Cell, envelope: Envelope, error: BaseException) -> None:
        """Try again later. There was no database, so nothing was committed and memory is right: this is no crash."""
        cell.envelope = None
        if envelope.reply is not None:
            envelope.reply.give(error)
            cell.phase = READY
            self._queue.schedule(cell)
        else:
            cell.mailbox.put_back(envelope)
            self._rest(cell, STORAGE_REST, READY)

    def _dispose(self, cell: Cell, envelope: Envelope, error: BaseException) -> None:
        """Handle the message that crashed an actor: an asker gets an error, a hint is retried once and then parked."""
        if envelope.reply is not None:
            envelope.reply.give(Crashed(str(cell.address)))
        elif envelope.crashes < self._policy.retries:
            cell.mailbox.put_back(replace(envelope, crashes=envelope.crashes + 1))
        else:
            self.parked += 1
            self._services.record("message.parked", **facts_of(cell, envelope), error=describe(error))
            self._services.park(cell.address, envelope, error)

    def _quarantine(self, cell: Cell, facts: dict[str, object]) -> None:
        cell.phase = CellPhase.QUARANTINED
        self.quarantines += 1
        self._quarantined[cell] = None
        cell.release_at = trio.current_time() + self._policy.quarantine
        for waiting in cell.mailbox.empty():
            refuse(cell, waiting, stopping=self._queue.closed)
        self._services.record("actor.quarantined", **facts, decision=f"no messages for {self._policy.quarantine:g} s")
        cell.feed.cut_all()

    def _rest(self, cell: Cell, seconds: float, afterwards: CellPhase) -> None:
        cell.phase = CellPhase.RESTING
        self._queue.start(self._resting, cell, seconds, afterwards)

    async def _resting(self, cell: Cell, seconds: float, afterwards: CellPhase) -> None:
        await trio.sleep(seconds)
        cell.phase = afterwards
        self._queue.enqueue(cell)


def crash_of(cell: Cell, envelope: Envelope | None, error: BaseException) -> Crash:
    if envelope is None:
        return Crash(str(cell.address), 0.0, "load", None, "-", type(error).__name__, place(error))
    origin = envelope.origin
    return Crash(
        str(cell.address), 0.0, envelope.kind, envelope.id, origin.request_id, type(error).__name__, place(error)
    )


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """The restart policy of a pool.

    Times are seconds. `back_off[n]` is the pause after crash n+1 of the last `period`.
    """

    intensity: int = 5
    period: float = 60.0
    back_off: tuple[float, ...] = (0.0, 0.1, 0.5, 2.0, 10.0)
    # a pause is lengthened by up to this share, so that many actors do not restart at the same time
    jitter: float = 0.2
    quarantine: float = 600.0
    retries: int = 1  # the number of further tries of a hint before it is parked

    def rest(self, crashes: int, chance: Callable[[], float]) -> float | None:
        """Return the seconds until the next incarnation after the n-th crash of the period. None means quarantine."""
        if crashes > self.intensity:
            return None
        return self.back_off[min(crashes, len(self.back_off)) - 1] * (1 + self.jitter * chance())


def retire(cell: Cell, record: Record) -> None:
    """Take the incarnation out of its cell."""
    actor, cell.actor, cell.envelope = cell.actor, None, None
    if actor is not None:
        let_go(cell, actor, record)


# Protected like a turn: a Ctrl-C must not become an error of the actor.
@trio.lowlevel.enable_ki_protection
def let_go(cell: Cell, actor: Incarnation, record: Record) -> None:
    """Call `retired` of an incarnation that has ended. An error is logged and has no other consequence."""
    try:
        actor.retired()
    except BaseException as error:
        record(
            "actor.crashed", **facts_of(cell, None), error=describe(error), place=place(error),
            decision="the actor is put to sleep all the same",
        )  # fmt: skip
