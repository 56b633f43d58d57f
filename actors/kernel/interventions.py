"""Operators' commands to single actors: restart from rows, and end a quarantine or a turn."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Mapping

from .cell import Cell, CellPhase
from .message import Address
from .pool import ActorPool
from .work import Released, Work

BY_OPERATOR = "by an operator"


class NothingToDo(Exception):
    """Raised when an actor is not in the state that the operator wants to end."""


class Interventions:
    """Acts on the actors of one process."""

    def __init__(self, pools: Mapping[str, ActorPool]) -> None:
        self._pools = pools
        self._loop = 0  # the thread in which the actors run

    def started(self) -> None:
        """Note the thread in which the actors run."""
        self._loop = threading.get_ident()

    def restart(self, address: Address) -> str:
        """Have an actor read its rows again before its next message.

        Return a sentence for the operator. Raises NothingToDo.
        """
        pool, cell = self._found(address)
        if cell.phase is CellPhase.QUARANTINED:
            return self.release(address)
        pool.resync(cell)
        if cell.phase is CellPhase.WAITING:
            return f"{address} restarts when its turn has ended; `troupe actor release {address}` ends it now."
        return f"{address} restarts from its rows."

    def release(self, address: Address) -> str:
        """End a quarantine, or a turn that waits. Return a sentence for the operator. Raises NothingToDo."""
        pool, cell = self._found(address)
        if cell.phase is CellPhase.QUARANTINED:
            pool.recovery.release(cell, BY_OPERATOR)
            return f"The quarantine of {address} has ended."
        if isinstance(cell.work, Work):
            cell.work.release()
            return f"The turn of {address} was cancelled; the actor restarts from its rows."
        raise NothingToDo(
            f"{address} is neither in quarantine nor in a turn that waits: it is {cell.phase.name.lower()}."
        )

    def break_off(self, address: Address) -> str:
        """End the turn that keeps the loop busy. Called in another thread. Raises NothingToDo.

        An exception is raised in the loop's thread, at its next line of Python. A turn inside a long call of C code
        ends after that call. The turn could end by itself between the look and the exception; then the exception would
        hit other code. This thread has just got the interpreter's lock, so it has it for some milliseconds, and the two
        lines take some microseconds.
        """
        pool, cell = self._found(address)
        time.sleep(0.001)
        running = pool.running()
        if running is None or running.cell is not cell:
            raise NothingToDo(f"{address} does not keep the server busy.")
        if running.work is None and running.envelope is not None:
            pool.mark_overdue(running.envelope)  # in case that it ends now
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._loop), ctypes.py_object(Released))
        return f"The turn of {address} was broken off; the actor restarts from its rows."

    def _found(self, address: Address) -> tuple[ActorPool, Cell]:
        pool = self._pools.get(address.kind)
        cell = pool.cells.get(address.key) if pool is not None else None
        if pool is None or cell is None:
            raise NothingToDo(f"{address} is not awake. An actor that wakes up reads its rows.")
        return pool, cell
