"""A waiting turn or a load, which runs in a task of its own."""

from __future__ import annotations

from collections.abc import Coroutine
from math import inf
from typing import cast

import trio

from .cell import Cell, Incarnation
from .envelope import Envelope
from .pool_services import Observer

LONGEST_TURN = 30.0  # seconds until a turn is cancelled and its actor crashed


class Overdue(Exception):
    """Raised in a turn that took too long."""

    def __init__(self) -> None:
        super().__init__(f"over {LONGEST_TURN:g} s")


class Released(BaseException):
    """Raised in a turn that an operator has ended. No `Exception`, so that a loop that catches these ends too."""

    def __init__(self) -> None:
        super().__init__("by an operator")


class Work:
    """One waiting turn or, without an envelope, one load.

    `cell.work` is this object for as long as the work owns the cell. The watchdog takes the cell away from work that
    does not end when it is cancelled; such abandoned work must not reach the cell any more.
    """

    __slots__ = (
        "_scope", "abandoned", "actor", "cell", "envelope", "logged", "released", "started_at", "task", "waits_for",
    )  # fmt: skip

    def __init__(self, cell: Cell, envelope: Envelope | None) -> None:
        self.cell = cell
        self.envelope = envelope
        self.started_at = trio.current_time()
        self.task = trio.lowlevel.current_task()
        self.waits_for: Cell | None = None  # the cell that an ask of this turn waits for
        self.logged = False  # it was logged as slow
        self.abandoned = False  # the watchdog has taken the cell away
        self.released = False  # an operator has ended it
        self._scope = trio.CancelScope(deadline=self.started_at + LONGEST_TURN)
        self.actor: Incarnation | None = None  # the incarnation that was abandoned with it

    async def result_of(
        self, doing: Coroutine[object, object, object], observe: Observer | None = None
    ) -> tuple[object, BaseException | None]:
        """Return the result of the turn or load, or the error that its actor crashes with."""
        answer: object = None
        try:
            with self._scope:
                answer = await doing
                if observe is not None and self.envelope is not None:
                    observe(self.cell.address, self.envelope.message, "after")
        except BaseException as raised:
            if (error := own_error(raised)) is None:
                raise
            return None, error
        # A turn that shields itself is not cancelled, but it is overdue too.
        return answer, self.error if trio.current_time() >= self.ends_at else None

    @property
    def ends_at(self) -> float:
        """The time on Trio's clock when it is cancelled."""
        return self._scope.deadline

    @property
    def error(self) -> BaseException:
        """The error that its actor crashes with if it has not ended in time."""
        return Released() if self.released else Overdue()

    def release(self) -> None:
        """Cancel it now, because an operator says so."""
        self.released = True
        self._scope.deadline = trio.current_time()


def own_error(raised: BaseException) -> BaseException | None:
    """Return the error of a turn or load. None if it was only cancelled together with its pool.

    Without the pool's cancellation even a `trio.Cancelled` is an error of the turn: it comes from another scope.
    """
    if trio.current_effective_deadline() > -inf:
        return raised
    if isinstance(raised, BaseExceptionGroup):
        # isinstance leaves the type of the group open.
        return cast("BaseExceptionGroup[BaseException]", raised).split(trio.Cancelled)[1]
    return None if isinstance(raised, trio.Cancelled) else raised
