"""The stream side of an actor: a log of events and the subscribers that read it.

A subscriber is a cursor over the log, moved to the head after every turn and after every restart; it is never merely
sent a message. The feed belongs to the cell, so it outlives incarnations: what one incarnation logged and did not get
to push is pushed by the next. A subscriber that can't keep up is cut, never skipped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

# How many ids a feed remembers as shown, and as gone: more than any timeline's window, so that a reload after a crash
# can tell news from what was there before.
MEMORY = 1000


SERVED = Exception("given everything")  # a mark, never raised


class Event:
    """Something a stream shows: `kind` as the API names it, `subject` a record or an id.

    One object is shared by all who see it, so that it is rendered and framed once; `rendered` is the renderers' cache.
    """

    __slots__ = ("kind", "rendered", "subject")

    def __init__(self, kind: str, subject: object = None) -> None:
        self.kind = kind
        self.subject = subject
        self.rendered: dict[str, bytes] = {}

    def __repr__(self) -> str:
        return f"<{self.kind}>"


class Subscriber(Protocol):
    """The receiving end of a stream."""

    def push(self, event: Event) -> bool:
        """Take an event without waiting; False when there is no room, and the subscriber is to be cut."""
        ...

    def cut(self) -> None:
        """The feed has let go of this subscriber: close its stream."""
        ...


class Feed:
    """Events since the slowest subscriber, and where each subscriber stands."""

    __slots__ = ("_cursors", "_first", "_log", "floor", "gone", "shown")

    def __init__(self) -> None:
        self._log: list[Event] = []  # seldom more than one: everything goes to everybody at the end of the turn
        self._first = 0  # the position of the log's first event
        self._cursors: dict[Subscriber, int] = {}  # a dict, so that the order is that of subscribing
        self.shown: dict[int, None] = {}  # what the subscribers know of, oldest knowledge first
        self.gone: dict[int, None] = {}  # what they were told is deleted: never shown again
        self.floor = 0  # what is older than this was there before anybody listened

    def __len__(self) -> int:
        return len(self._cursors)

    @property
    def head(self) -> int:
        return self._first + len(self._log)

    @property
    def behind(self) -> bool:
        """Whether some subscriber has not been given everything."""
        return bool(self._log)

    def subscribe(self, subscriber: Subscriber) -> None:
        """From now on; what was logged before is not shown."""
        self._cursors[subscriber] = self.head

    def unsubscribe(self, subscriber: Subscriber) -> None:
        self._cursors.pop(subscriber, None)
        self._trim()

    def begin(self, known: Iterable[int], floor: int) -> None:
        """Somebody begins to listen: `known` is what they can read for themselves, `floor` the oldest news."""
        self.shown = dict.fromkeys(known)
        self.gone = {}
        self.floor = floor

    def know(self, subject: int) -> None:
        """The subscribers need not be told of this one. Without any there is nothing to remember: see `begin`."""
        if self._cursors:
            remember(self.shown, subject)

    def announce(self, subject: int, event: Event) -> bool:
        """Log the arrival of `subject`, unless it is known already or deleted."""
        if subject in self.shown or subject in self.gone:
            return False
        self.know(subject)
        self.append(event)
        return True

    def retract(self, subject: int, event: Event) -> None:
        """Log the deletion of `subject`, once; it will not be announced afterwards."""
        if subject in self.gone:
            return
        remember(self.gone, subject)
        self.shown.pop(subject, None)
        self.append(event)

    def append(self, event: Event) -> None:
        """Log an event. Without subscribers there is nobody to keep it for."""
        if self._cursors:
            self._log.append(event)
        else:
            self._first += 1

    def catch_up(self) -> list[Exception | None]:
        """Move every subscriber to the head; one entry for each that had to be cut, with its error if it raised one."""
        if not self._log:
            return []
        cuts = [cut for subscriber in list(self._cursors) if (cut := self._serve(subscriber)) is not SERVED]
        self._trim()
        return cuts

    def cut_all(self) -> None:
        """Let go of everybody: the process ends or the actor takes no messages any more."""
        subscribers = list(self._cursors)
        self._cursors.clear()
        self._trim()
        for subscriber in subscribers:
            _cut(subscriber)

    def _serve(self, subscriber: Subscriber) -> Exception | None:
        error: Exception | None = None
        try:
            if self._advance(subscriber):
                return SERVED
        except Exception as raised:  # a broken subscriber is its own misfortune, not the actor's
            error = raised
        self._cursors.pop(subscriber, None)
        return _cut(subscriber) or error

    def _advance(self, subscriber: Subscriber) -> bool:
        while subscriber in self._cursors and (cursor := self._cursors[subscriber]) < self.head:
            self._cursors[subscriber] = cursor + 1  # before the push, in which it may leave
            if not subscriber.push(self._log[cursor - self._first]):
                return False
        return True

    def _trim(self) -> None:
        slowest = min(self._cursors.values(), default=self.head)
        del self._log[: slowest - self._first]
        self._first = slowest


def _cut(subscriber: Subscriber) -> Exception | None:
    try:
        subscriber.cut()
    except Exception as raised:
        return raised
    return None


def remember(memory: dict[int, None], subject: int) -> None:
    """Add to a bounded memory; the oldest is forgotten."""
    memory[subject] = None
    if len(memory) > MEMORY:
        del memory[next(iter(memory))]
