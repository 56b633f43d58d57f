"""The base of messages. Each is a frozen dataclass whose base class names the type of its answer."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import ClassVar, Generic, Self, TypeAlias, TypeVar

from .errors import Refused

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class LabelledMessage:
    """The part of a message that does not depend on its answer."""

    __slots__ = ()

    # True if it changes nothing that can be seen before the actor is asked, or before it has a subscriber: then the
    # turn may be put off until something else happens to the actor.
    can_wait: ClassVar[bool] = False

    def put_off(self) -> Self:
        """Return what an actor needs of the message for a turn that is put off. It has no subscribers then."""
        return self

    @property
    def label(self) -> str:
        """The name of the message in the log and in dead letters."""
        return type(self).__name__


class Message(LabelledMessage, Generic[R_co]):
    """A message that is answered with an `R_co`: `class HomePage(Message[list[int]])`. A hint is a `Message[None]`.

    `ask` returns this type, and `turn` refuses a function that answers with another one.
    """

    __slots__ = ()


class SystemMessage(Message[R_co]):
    """A message that is taken in every state of its actor, by `Actor.guarded`: of another actor, an effect or a timer,
    a query of the server, or a request that needs no sign-in.
    """

    __slots__ = ()


class Control(Generic[R_co]):
    """A request of the runtime itself to an actor's cell, answered with an `R_co`.

    It stays in the process, so that it may hold live objects. A message may not: it can be written as bytes.
    """

    __slots__ = ()


# The return type of a turn for a `Message[R]`: the answer or a refusal, at once or from a coroutine.
Answer: TypeAlias = R | Refused | Coroutine[object, object, R | Refused]
