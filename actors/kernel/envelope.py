"""A message on its way: who caused it, until when an answer is of use, and where the answer goes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import outcome
import trio

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


class Reply:
    """The place where one asker waits for one answer."""

    __slots__ = ("_outcome", "_task")

    def __init__(self) -> None:
        self._outcome: outcome.Outcome[Any] | None = None
        self._task: trio.lowlevel.Task | None = None

    @property
    def given(self) -> bool:
        return self._outcome is not None

    def give(self, value: object) -> None:
        """Answer; an exception is raised at the asker's side. Only the first answer counts."""
        if self._outcome is not None:
            return
        self._outcome = outcome.Error(value) if isinstance(value, Exception) else outcome.Value(value)
        if self._task is not None:
            trio.lowlevel.reschedule(self._task)
            self._task = None

    async def wait(self) -> Any:
        """The answer. Cancelling the wait takes nothing back: the turn goes on without its asker."""
        if self._outcome is None:
            self._task = trio.lowlevel.current_task()
            await trio.lowlevel.wait_task_rescheduled(self._abandon)
        # Unwrapping forgets the outcome's value, so a reply is waited for once.
        return cast("outcome.Outcome[Any]", self._outcome).unwrap()

    def _abandon(self, _: object) -> trio.lowlevel.Abort:
        self._task = None
        return trio.lowlevel.Abort.SUCCEEDED


@dataclass(slots=True, eq=False)
class Envelope:
    """One message in one mailbox."""

    id: int
    message: object
    origin: Origin
    deadline: float = float("inf")  # on Trio's clock
    reply: Reply | None = None
    crashes: int = field(default=0)  # how many incarnations it has already taken down

    @property
    def kind(self) -> str:
        return type(self.message).__name__

    def cause(self, at: object) -> str:
        """How this message is named in the causes of what it brings about."""
        return f"{self.kind}#{self.id} at {at}"
