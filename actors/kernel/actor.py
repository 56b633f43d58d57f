"""The base of all actors: state that mirrors rows, and one turn for each kind of message.

A turn handles one message from start to end. A plain function runs inline in its pool's drainer. A turn that must wait,
as for a transaction, is an async function, or a plain function that returns a coroutine: it gets a task of its own, and
the mailbox waits. `class HomePage(Message[list[int]])` is a message whose answer is a list of ids; pyright checks `ask`
and `@turn(HomeTimeline, HomePage)` against it. Memory changes only after the commit. A refusal is returned. An
exception means that memory may be wrong: the actor is loaded again from rows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

from .cell import Asker, Cell
from .errors import Refused, Superseded
from .feed import Feed, Subscriber
from .message import NOWHERE, Address, Answer, Envelope, Message, Origin, R

A_co = TypeVar("A_co", bound="Actor", covariant=True)
M_co = TypeVar("M_co", covariant=True)

# A turn in the table of its actor's class: `turn` has checked that actor, message and answer belong together.
Turn = Callable[[Any, Any], object]


class Messenger(Protocol):
    """The two ways to reach another actor. `Runtime` implements them."""

    def tell(self, address: Address, message: Message[object], *, origin: Origin = NOWHERE) -> None: ...

    async def ask(
        self,
        address: Address,
        message: Message[R],
        *,
        origin: Origin = NOWHERE,
        deadline: float | None = None,
        asker: Asker | None = None,
    ) -> R: ...


class Actor:
    """One incarnation of one actor. Its mailbox, its feed and its crash record belong to its cell."""

    __slots__ = ("_cell", "_runtime")

    turns: ClassVar[dict[type[Message[object]], Turn]] = {}

    def __init_subclass__(cls) -> None:
        cls.turns = dict(cls.turns)

    @classmethod
    def guarded(cls, message: type[Message[object]], function: Turn) -> Turn:
        """Return the turn to be called for messages of a class. A kind of actor may refuse some before their turn."""
        return function

    def __init__(self, cell: Cell, runtime: Messenger) -> None:
        self._cell = cell
        self._runtime = runtime

    @property
    def address(self) -> Address:
        return self._cell.address

    @property
    def feed(self) -> Feed:
        return self._cell.feed

    @property
    def listened(self) -> Feed | None:
        """The feed; None if it never had a subscriber: then no event was shown."""
        return self._cell.listened

    @property
    def origin(self) -> Origin:
        """The origin of all messages that the current turn sends."""
        envelope = self._cell.envelope
        return envelope.origin.after(envelope.cause(self.address)) if envelope else NOWHERE

    async def load(self) -> None:
        """Fill memory from rows. Runs before the first turn of every incarnation."""

    def subscribed(self, subscriber: Subscriber) -> None:
        """Called after a subscriber has joined the feed."""

    def retired(self) -> None:
        """Called when this incarnation goes to sleep. Remove its registrations elsewhere."""

    def describe(self) -> str:
        """Return the state of this incarnation for the supervision log: numbers, never contents."""
        return ""

    def tell(self, address: Address, message: Message[object]) -> None:
        self._runtime.tell(address, message, origin=self.origin)

    async def ask(self, address: Address, message: Message[R]) -> R:
        """Ask another actor from within a turn. A turn may wait for a single ask at a time.

        The deadline is the deadline of this turn's message, if it has one.
        """
        envelope: Envelope | None = self._cell.envelope
        deadline = envelope.deadline if envelope and envelope.reply else None
        return await self._runtime.ask(address, message, origin=self.origin, deadline=deadline, asker=self._cell.work)

    def detach(self) -> None:
        """Give this incarnation a cell of its own.

        Its turn goes on after it was replaced, and must not reach the real cell.
        """
        self._cell = Cell(self._cell.address)

    def check_current(self) -> None:
        """Raise `Superseded` in a turn that goes on after its incarnation was replaced."""
        if self._cell.actor is not self:
            raise Superseded(str(self._cell.address))


class turn(Generic[A_co, M_co]):
    """Register a function as an actor's turn for the messages of one class: `@turn(HomeTimeline, HomePage)`.

    The type checker compares the function's parameters with the two classes, and its answer with the message's answer.
    Subclasses of the actor's class inherit the turn. They must be defined later: otherwise the order of imports would
    decide which of them have it.
    """

    def __init__(self, actor: type[A_co], message: type[M_co]) -> None:
        self._actor = actor
        self._message = message

    def __call__(
        self: turn[A_co, Message[R]], function: Callable[[A_co, M_co], Answer[R]]
    ) -> Callable[[A_co, M_co], Answer[R]]:
        actor, message = self._actor, self._message
        if derived := actor.__subclasses__():
            raise TypeError(f"{actor.__name__}'s turns were inherited by {derived[0].__name__} already")
        if message in actor.turns:
            raise TypeError(f"{actor.__name__} has two turns for {message.__name__}")
        if (taken := _message_of(function)) != message.__name__:
            raise TypeError(f"{function.__qualname__} takes {taken}, and was registered for {message.__name__}")
        actor.turns[message] = actor.guarded(message, function)
        return function


async def finished(answer: Answer[R]) -> R | Refused:
    """Return the answer of a turn that another turn of the same actor has called."""
    # No answer is a coroutine itself, which the type checker can't know.
    return cast("R | Refused", await answer if inspect.iscoroutine(answer) else answer)


def _message_of(function: Callable[..., object]) -> str:
    """Return the annotation of a turn's last parameter, as it is written."""
    *_, message = inspect.signature(function).parameters.values()
    return message.annotation if isinstance(message.annotation, str) else message.annotation.__name__
