"""The asker's side of an ask: the wait for the answer, the refusal of cycles, and the time for other tasks."""

from __future__ import annotations

from time import perf_counter

import trio

from .cell import Asker, Cell
from .drainer import BUDGET
from .envelope import Envelope, Reply
from .errors import AskCycle, TimedOut
from .message import R
from .pool_services import Record

ASK_TIMEOUT = 10.0  # seconds, when the asker gives no deadline
LONGEST_CHAIN = 20  # asks in a row without a checkpoint, in simulation


async def wait_for_answer(cell: Cell, envelope: Envelope, reply: Reply[R]) -> R:
    """Return the answer to a message, or raise what the turn refused with. Raises `TimedOut` at its deadline."""
    try:
        with trio.move_on_at(envelope.deadline):
            return await reply.wait()
    finally:
        if reply.left:
            cell.mailbox.withdraw(envelope)
    raise TimedOut(envelope.kind)


def enter_wait(asker: Asker, asked: Cell, envelope: Envelope, record: Record) -> None:
    """Note that a turn waits for the actor `asked`. Raises `AskCycle` if that one waits for the turn's own actor."""
    cell: Cell | None = asked
    while cell is not None:
        if cell is asker.cell:
            record(
                "ask.cycle", actor=str(cell.address), message=envelope.kind, message_id=envelope.id,
                request_id=envelope.origin.request_id, causes=list(envelope.origin.causes), decision="refused",
            )  # fmt: skip
            raise AskCycle(f"{cell.address} asks {asked.address}, which waits for it")
        cell = cell.work.waits_for if cell.work is not None else None
    asker.waits_for = asked


def holds_the_loop(*, simulated: bool) -> bool:
    """True if the current task has asked for longer than the budget without letting other tasks run.

    An ask that is answered or refused at once does not yield to other tasks. Trio clears `custom_sleep_data` whenever
    it schedules a task, so this mark tells when the task first asked since then. In simulation asks are counted
    instead, because real time would not replay.
    """
    task = trio.lowlevel.current_task()
    mark: object = task.custom_sleep_data
    if mark is None:
        task.custom_sleep_data = float(LONGEST_CHAIN) if simulated else perf_counter() + BUDGET
        return False
    if type(mark) is not float:
        return False
    if simulated:
        task.custom_sleep_data = mark - 1
        return mark <= 1
    return perf_counter() > mark
