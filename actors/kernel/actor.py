"""What an actor is: state that mirrors rows, and one turn for each kind of message.

A turn is one message from start to end. A turn that need not wait is a plain function and runs inline from its pool's
drainer; a turn that must wait (for a transaction) is an async function, or a plain one that finds it has to and returns
a coroutine: it gets a task while its mailbox waits. Memory changes only after the commit. A refusal is returned; an
exception means that memory may be wrong, and the actor is made anew from rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from .address import Address
from .cell import Cell
from .envelope import NOWHERE, Envelope, Origin
from .errors import Superseded
from .feed import Feed, Subscriber

if TYPE_CHECKING:
    from .runtime import Runtime

A = TypeVar("A", bound="Actor")
M = TypeVar("M")
R = TypeVar("R")


Turn = Callable[[Any, Any], Any]


class Actor:
    """One incarnation of one actor. Its mailbox, its feed and its crash record live in the cell around it."""

    __slots__ = ("_cell", "_runtime")

    turns: ClassVar[dict[type, Turn]] = {}

    def __init_subclass__(cls) -> None:
        cls.turns = dict(cls.turns)

    def __init__(self, cell: Cell, runtime: Runtime) -> None:
        self._cell = cell
        self._runtime = runtime

    @property
    def address(self) -> Address:
        return self._cell.address

    @property
    def feed(self) -> Feed:
        return self._cell.feed

    @property
    def origin(self) -> Origin:
        """The origin of whatever the current turn brings about."""
        envelope = self._cell.envelope
        return envelope.origin.after(envelope.cause(self.address)) if envelope else NOWHERE

    async def load(self) -> None:
        """Fill memory from rows. Runs before the first turn of every incarnation."""

    def subscribed(self, subscriber: Subscriber) -> None:
        """Called after a subscriber has joined the feed."""

    def retired(self) -> None:
        """Called when this incarnation goes to sleep: take back what was registered elsewhere."""

    def describe(self) -> str:
        """What this incarnation holds, for the supervision log: numbers, never contents."""
        return ""

    def tell(self, address: Address, message: object) -> None:
        self._runtime.tell(address, message, origin=self.origin)

    async def ask(self, address: Address, message: object) -> Any:
        """Ask another actor from within a turn, one at a time; the deadline is that of this turn's message, if any."""
        envelope: Envelope | None = self._cell.envelope
        deadline = envelope.deadline if envelope and envelope.reply else None
        return await self._runtime.ask(address, message, origin=self.origin, deadline=deadline, asker=self._cell.work)

    def detach(self) -> None:
        """Let this incarnation act on a cell that nobody sees, since its turn goes on after it was replaced."""
        self._cell = Cell(self._cell.address)

    def check_current(self) -> None:
        """Raise `Superseded` in a turn that goes on after its incarnation was replaced."""
        if self._cell.actor is not self:
            raise Superseded(str(self._cell.address))


def turn(actor: type[A], message: type[M]) -> Callable[[Callable[[A, M], R]], Callable[[A, M], R]]:
    """Register a function as `actor`'s turn for messages of this type, and as that of classes derived later.

    A turn for a class that others derive from must be registered before they do: otherwise it would depend on the
    order of imports which of them have it.
    """

    def register(function: Callable[[A, M], R]) -> Callable[[A, M], R]:
        if derived := actor.__subclasses__():
            raise TypeError(f"{actor.__name__}'s turns were inherited by {derived[0].__name__} already")
        if message in actor.turns:
            raise TypeError(f"{actor.__name__} has two turns for {message.__name__}")
        actor.turns[message] = function
        return function

    return register
