"""Messages and how they travel: the address of an actor, the base of messages, the envelope, the place for the answer.

A message is a frozen dataclass whose base class names the type of its answer.
"""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeAlias, TypeVar

import trio

from .errors import Refused


class Address(NamedTuple):
    """`account/1103`, `home/1103`, `public/local`: the kind of the pool, and the key within it."""

    kind: str
    key: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.key}"

    @classmethod
    def parse(cls, text: str) -> Address:
        """Return the address with this text."""
        kind, _, key = text.partition("/")
        return cls(kind, key)


R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class LabelledMessage:
    """The part of a message that does not depend on its answer."""

    __slots__ = ()

    # True if it changes nothing that can be seen before the actor is asked, or before it has a subscriber: then the
    # turn may be deferred until another message arrives.
    can_wait: ClassVar[bool] = False

    # True for a command: it is handled in the process that owns the actor (`Runtime.ask`).
    at_owner: ClassVar[bool] = False

    def deferred(self) -> Self:
        """Return the part of the message that a deferred turn needs, when the actor has no subscribers."""
        return self

    @property
    def label(self) -> str:
        """The name of the message in the log and in dead letters."""
        return type(self).__name__


class Message(LabelledMessage, Generic[R_co]):
    """A message that is answered with an `R_co`: `class HomePage(Message[list[int]])`. A hint is a `Message[None]`.

    `ask` returns this type, and `turn` refuses a function that answers with another type.
    """

    __slots__ = ()


class SystemMessage(Message[R_co]):
    """A message that `Actor.guarded` accepts in every state of its actor: from another actor, an effect or a timer, a
    query of the server, or a request that needs no sign-in.
    """

    __slots__ = ()


class Command(Message[R_co]):
    """A message whose turn may change rows, or must see the newest rows of its actor.

    It is handled in the process that owns the actor. All other messages are handled in each process that has the actor.
    """

    __slots__ = ()

    at_owner = True


class SystemCommand(Command[R_co], SystemMessage[R_co]):
    """A command that `Actor.guarded` accepts in every state of its actor."""

    __slots__ = ()


class Control(Generic[R_co]):
    """A request of the runtime itself to an actor's cell, answered with an `R_co`.

    It stays in the process, so that it may hold live objects. A message may not: it can be written as bytes.
    """

    __slots__ = ()


# The return type of a turn for a `Message[R]`: the answer or a refusal, at once or from a coroutine.
Answer: TypeAlias = R | Refused | Coroutine[object, object, R | Refused]


# A longer chain is shortened in the log record, not in the runtime: causes are for people.
LONGEST_CHAIN = 16


@dataclass(frozen=True, slots=True)
class Origin:
    """The request and the messages that led to this message. Causes read `PublishStatus#57 at account/1103`.

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
    waiting: tuple[str, ...] = ()  # addresses of the actors that wait for the answer, if a turn has asked

    @property
    def can_wait(self) -> bool:
        """True for a hint whose turn may be deferred."""
        return self.reply is None and isinstance(self.message, LabelledMessage) and self.message.can_wait

    def deferred(self) -> Envelope:
        """Return the copy of a hint that a mailbox holds while its turn is deferred.

        It is small, because many mailboxes hold many.
        """
        message = self.message
        return replace(self, message=message.deferred()) if isinstance(message, LabelledMessage) else self

    @property
    def kind(self) -> str:
        """The name of the message in the log and in dead letters."""
        return self.message.label if isinstance(self.message, LabelledMessage) else type(self.message).__name__

    def cause(self, at: object) -> str:
        """Return the name of this message in the causes of the messages that it leads to."""
        return f"{self.kind}#{self.id} at {at}"
