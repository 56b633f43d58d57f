"""A message on its way: who caused it, until when an answer is of use, and where the answer goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic

import trio

from .message import R_co

# A chain longer than this is cut in the middle of the log record, not in the runtime: causes are for people.
LONGEST_CHAIN = 16


@dataclass(frozen=True, slots=True)
class Origin:
    """Which request, and which messages of it, led to this one. Causes read `PublishStatus#57 at account/1103`."""

    request_id: str = "-"
    causes: tuple[str, ...] = ()

    def after(self, cause: str) -> Origin:
        """The origin of what `cause` brings about."""
        return Origin(self.request_id, (*self.causes[-LONGEST_CHAIN + 1 :], cause))


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
        """The answer. Cancelling the wait takes nothing back: the turn goes on without its asker."""
        if self._answer is PENDING:
            self._task = trio.lowlevel.current_task()
            await trio.lowlevel.wait_task_rescheduled(self._abandon)
        return self.take()

    def take(self) -> R_co:
        """The answer that was given."""
        if isinstance(self._answer, Exception):
            # One refusal may answer many: raised again, it would collect the frames of all who were ever refused.
            raise self._answer.with_traceback(None)
        return self._answer

    def _abandon(self, _: object) -> trio.lowlevel.Abort:
        self._task = None
        self.left = True
        return trio.lowlevel.Abort.SUCCEEDED


@dataclass(slots=True, eq=False)
class Envelope:
    """One message. A hint for many lies in all their mailboxes as one envelope, so it is not changed on the way."""

    id: int
    message: object
    origin: Origin
    deadline: float = float("inf")  # on Trio's clock
    reply: Reply[object] | None = None
    crashes: int = 0  # how many incarnations it has already taken down

    @property
    def kind(self) -> str:
        return type(self.message).__name__

    def cause(self, at: object) -> str:
        """How this message is named in the causes of what it brings about."""
        return f"{self.kind}#{self.id} at {at}"
