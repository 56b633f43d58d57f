"""A message in transit: its cause, its deadline, and the place for its answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic

import trio

from .message import LabelledMessage, R_co

# A longer chain is shortened in the log record, not in the runtime: causes are for people.
LONGEST_CHAIN = 16


@dataclass(frozen=True, slots=True)
class Origin:
    """The request and the messages that led to this one. Causes read `PublishStatus#57 at account/1103`.

    `trace` is the `traceparent` of W3C for the span that led to it; empty if it is not traced.
    """

    request_id: str = "-"
    causes: tuple[str, ...] = ()
    trace: str = ""

    @property
    def trace_id(self) -> str:
        return self.trace[3:35]

    def after(self, cause: str) -> Origin:
        """Return the origin of the messages that `cause` leads to."""
        return Origin(self.request_id, (*self.causes[-LONGEST_CHAIN + 1 :], cause), self.trace)


NOWHERE = Origin()

PENDING = object()


class Reply(Generic[R_co]):
    """The place where one asker waits for one answer."""

    __slots__ = ("_answer", "_task", "left")

    def __init__(self) -> None:
        self._answer: Any = PENDING  # from a turn, whose answer `turn` has compared with the message's
        self._task: trio.lowlevel.Task | None = None
        self.left = False  # the asker was cancelled, or its deadline passed

    @property
    def given(self) -> bool:
        return self._answer is not PENDING

    def give(self, answer: object) -> None:
        """Answer; an exception is raised at the asker's side. Only the first answer counts."""
        if self._answer is not PENDING:
            return
        self._answer = answer
        if self._task is not None:
            trio.lowlevel.reschedule(self._task)
            self._task = None

    async def wait(self) -> R_co:
        """Wait for the answer. If the wait is cancelled, the turn goes on."""
        if self._answer is PENDING:
            self._task = trio.lowlevel.current_task()
            await trio.lowlevel.wait_task_rescheduled(self._abandon)
        return self.take()

    def take(self) -> R_co:
        """Return the answer, or raise it."""
        if isinstance(self._answer, Exception):
            # One refusal object may answer many: raised again and again, it would collect the frames of all askers.
            raise self._answer.with_traceback(None)
        return self._answer

    def _abandon(self, _: object) -> trio.lowlevel.Abort:
        self._task = None
        self.left = True
        return trio.lowlevel.Abort.SUCCEEDED


@dataclass(slots=True, eq=False)
class Envelope:
    """One message with its cause, its deadline and its reply.

    A hint to many actors is one shared envelope, so it is not changed in transit.
    """

    id: int
    message: object
    origin: Origin
    deadline: float = float("inf")  # on Trio's clock
    reply: Reply[object] | None = None
    crashes: int = 0  # the number of incarnations that crashed on it
    sent_at: float = 0.0  # on Trio's clock

    @property
    def can_wait(self) -> bool:
        """True for a hint whose turn may be put off."""
        return self.reply is None and isinstance(self.message, LabelledMessage) and self.message.can_wait

    def put_off(self) -> Envelope:
        """Return what an actor keeps of a hint while its turn is put off: many actors may keep many."""
        message = self.message
        return replace(self, message=message.put_off()) if isinstance(message, LabelledMessage) else self

    @property
    def kind(self) -> str:
        """The name of the message in the log and in dead letters."""
        return self.message.label if isinstance(self.message, LabelledMessage) else type(self.message).__name__

    def cause(self, at: object) -> str:
        """The name of this message in the causes of the messages it leads to."""
        return f"{self.kind}#{self.id} at {at}"
