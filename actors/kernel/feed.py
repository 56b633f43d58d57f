"""The stream side of an actor: a log of events, and the subscribers that read it.

A subscriber is a cursor over the log. After every turn and every restart of the actor its subscribers are woken, and
each reads on at the pace of its client. The feed belongs to the cell, so it outlives incarnations: events that an
incarnation logged before it crashed are shown after the restart.

The log holds the events that some subscriber has not read. A subscriber is cut, never skipped, when its client has
stopped reading (`STALLED`) and it is further behind than it may be, or when its client is slow and it is `HELD` events
behind. A subscriber whose client takes everything is never cut: if it is behind, the server is slow, and publishers
wait (`cell.py`).

Events get their ids when the first subscriber reads them. Until then an event that was found in rows is put before the
events of newer subjects. A feed is held while its actor may lack older events: nothing is read from it until the actor
has read its rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

import trio

from .resumption import UNPUBLISHED, FeedProgress, Publication, Subjects

# How many events a feed keeps for clients that read slowly.
HELD = 4096
# How many unread events of a subscriber that could be read at once make its timeline crowded.
CROWDED = 128
# Seconds after which a client that took nothing is considered not to read.
STALLED = 5.0

SERVED = Exception("is served")  # a mark, never raised


Checked: TypeAlias = "tuple[int, Event | None]"
UNCHECKED: Checked = (-1, None)


class RenderedOnce:
    """Base of events that are checked and rendered once for all subscribers, because they share one object.

    `rendered` is the cache of the renderers. `checked` is the number of facts at the time of the check, and the event
    to show in place of this event, or None to show nothing. Neither is a field: they are not compared, and the codec
    does not write them.
    """

    # With a weak reference a test checks if a feed still holds an event.
    __slots__ = ("__weakref__", "checked", "rendered")

    checked: Checked
    rendered: dict[str, bytes]

    def __post_init__(self) -> None:
        object.__setattr__(self, "checked", UNCHECKED)
        object.__setattr__(self, "rendered", {})

    def note_check(self, checked: Checked) -> Checked:
        object.__setattr__(self, "checked", checked)
        return checked


@dataclass(frozen=True, slots=True)
class Event(RenderedOnce):
    """The base of the events that streams show, which are frozen dataclasses.

    `publication` is the time and number of its publication.
    """

    publication: Publication = field(default=UNPUBLISHED, compare=False, repr=False, kw_only=True)


class Logged(NamedTuple):
    """An event in a feed's log, with its key and the id that clients are given for it.

    The id is empty until the event is read, and as long as nothing was published.
    """

    event: Event
    key: str
    id: str


class Subscriber(Protocol):
    """The receiving end of a stream."""

    @property
    def room(self) -> int:
        """The number of events that it may be behind when its client does not read."""
        ...

    @property
    def blocked_since(self) -> float | None:
        """The time on Trio's clock when its client last took some of the sent bytes; None if none wait."""
        ...

    def wake(self, feed: Feed) -> None:
        """Called when `feed` has events to read, inside the actor's turn: read them now or soon, and do not wait."""
        ...

    def cut(self) -> None:
        """The feed has let go of this subscriber: close its stream."""
        ...


class Feed:
    """Events that some subscribers have still to read, and the position of each subscriber."""

    __slots__ = (
        "_began", "_behind", "_cursors", "_end", "_first", "_floor", "_log", "_numbered", "_progress",
        "_trim_at", "gone", "is_held", "replayed", "shown", "turned_away",
    )  # fmt: skip

    def __init__(self) -> None:
        self._log: list[Logged] = []
        self._progress = FeedProgress()
        self._first = 0  # the position of the log's first event
        self._end = 0  # the position up to which subscribers may read: the head at the end of the last turn
        self._numbered = 0  # the position up to which events have ids: that of the subscriber that has read most
        self.is_held = False  # nothing is read until the actor has read its rows
        self._cursors: dict[Subscriber, int] = {}  # a dict, so that the order is that of subscribing
        self._behind: dict[Subscriber, None] = {}  # subscribers that have not read up to `_end`
        self._trim_at = CROWDED  # the length at which the log is trimmed next: each time costs a look at all cursors
        self.shown = Subjects()  # subjects that the subscribers know
        self.gone = Subjects()  # deleted subjects, which are never shown again
        self.replayed = Subjects()  # subjects that only resumed streams were shown
        self.turned_away = Subjects()  # subjects that did not belong here when they arrived
        self._floor = 0
        self._began = 0

    def __len__(self) -> int:
        return len(self._cursors)

    @property
    def head(self) -> int:
        return self._first + len(self._log)

    @property
    def floor(self) -> int:
        """The oldest id that is news. Older subjects were there before the first subscriber, or are not remembered."""
        return max(self._floor, self.shown.forgotten)

    @property
    def has_news(self) -> bool:
        """True if there are events that no subscriber was woken for."""
        return self._end < self._first + len(self._log)

    @property
    def waiting(self) -> list[Event]:
        """The events that some subscribers have still to read."""
        return [logged.event for logged in self._log]

    @property
    def is_crowded(self) -> bool:
        """True if a subscriber that could read at once is far behind."""
        if len(self._log) < CROWDED:
            return False
        return any(
            self._end - self._cursors[subscriber] >= CROWDED and subscriber.blocked_since is None
            for subscriber in self._behind
        )

    def lag(self, subscriber: Subscriber) -> int:
        """Return how many events a subscriber has not read."""
        return self.head - self._cursors.get(subscriber, self.head)

    def lags(self) -> list[tuple[int, float | None]]:
        """Return for each subscriber the number of unread events, and its `blocked_since`."""
        return [(self.head - cursor, subscriber.blocked_since) for subscriber, cursor in list(self._cursors.items())]

    def subscribe(self, subscriber: Subscriber) -> None:
        """Add a subscriber. It is shown the events from now on."""
        self._behind.pop(subscriber, None)
        self._number(self.head)  # no event is put before its cursor
        self._cursors[subscriber] = self.head

    def unsubscribe(self, subscriber: Subscriber) -> None:
        self._cursors.pop(subscriber, None)
        self._behind.pop(subscriber, None)
        if not self._cursors:
            self._end = self.head
        self._forget_read()

    def read(self, subscriber: Subscriber, most: int) -> list[Logged]:
        """The next events of a subscriber, at most so many; its cursor moves behind them."""
        if subscriber not in self._behind or self.is_held:
            return []
        cursor = self._cursors[subscriber]
        end = min(cursor + most, self._end)
        if end > self._numbered:  # once a round: the first subscriber reads
            self._number(end)
        events = self._log[cursor - self._first : end - self._first]
        cursor += len(events)
        self._cursors[subscriber] = cursor
        if cursor == self._end:
            del self._behind[subscriber]
            self._forget_read()
        return events

    def begin(self, known: Iterable[int], floor: int, began: int = 0) -> None:
        """Prepare for the first subscriber: `known` are the subjects in rows, `floor` is the oldest id that is news.

        The floor is lower than `began`, an id of this moment, by the time that transactions may take: see `settle`.

        Subjects that earlier subscribers were shown stay known: an earlier subscriber may be back, and after a crash
        the mailbox may still hold the message about a subject that was shown from rows.
        """
        self.shown.renew(known)
        self._floor, self._began = floor, began

    def settle(self, settled: int) -> None:
        """Set the floor to the first subscription, if that was before the id `settled`.

        By then every transaction that had begun before the subscription has ended and was published.
        """
        if self._began < settled:
            self._floor = max(self._floor, self._began)

    def know(self, subject: int) -> None:
        """Remember a subject that the subscribers need not be shown. Without subscribers `begin` remembers it."""
        if self._cursors:
            self.shown.add(subject)

    def turn_away(self, subject: int) -> None:
        """Remember a subject that the subscribers were not shown when it arrived."""
        if self._cursors:
            self.turned_away.add(subject)

    def append_new(self, subject: int, event: Event) -> bool:
        """Log the arrival of `subject`, unless it is known already or deleted."""
        if subject in self.shown or subject in self.gone:
            return False
        if self._cursors:
            self.shown.add(subject)
        self.append(event, key_of(subject))
        return True

    def insert_new(self, subject: int, event: Event) -> None:
        """Log the arrival of `subject`, which was found in rows, unless it is known already or deleted.

        It is shown before the events of newer subjects, as far as no subscriber has read them.
        """
        if self.append_new(subject, event) and self._cursors:
            added, first = self._log.pop(), self._numbered - self._first
            place = next((place for place in range(first, len(self._log)) if self._is_newer(place, subject)), None)
            self._log.insert(len(self._log) if place is None else place, added)

    def _is_newer(self, place: int, subject: int) -> bool:
        """True if the event at a place in the log is about a newer subject. Deletions are about none."""
        key = self._log[place].key
        return key.isdigit() and int(key) > subject

    def retract(self, subject: int, event: Event) -> None:
        """Log the deletion of `subject`, once; it is not shown afterwards."""
        if subject in self.gone:
            return
        self.gone.add(subject)
        self.shown.discard(subject)
        self.append(event, key_of_gone(subject))

    def append(self, event: Event, key: str = "") -> None:
        """Log an event. Without subscribers it is not kept."""
        if self._cursors:
            self._log.append(Logged(event, key, ""))
        else:
            self._first += 1
            self._end = self._numbered = self._first

    def catch_up(self) -> list[BaseException | None]:
        """Wake every subscriber. Return an entry for each subscriber that was cut: its error, or None."""
        if self.is_held or not self.has_news:
            return []
        self._end = head = self.head
        # All are behind before the first subscriber reads: otherwise the log would be dropped after its read.
        behind = [subscriber for subscriber, cursor in self._cursors.items() if cursor < head]
        for subscriber in behind:
            self._behind[subscriber] = None
        cuts = [cut for subscriber in behind if (cut := self._serve(subscriber)) is not SERVED]
        self._forget_read()
        return cuts

    def hold(self) -> None:
        """Let no subscriber read until `release`."""
        self.is_held = True
        self._end = self._first  # so that `catch_up` wakes every subscriber that has not read all

    def release(self) -> None:
        """Let subscribers read again. `catch_up` wakes them."""
        self.is_held = False

    def cut_all(self) -> None:
        """End all subscriptions: the process ends or the actor takes no messages any more."""
        subscribers = list(self._cursors)
        self._cursors.clear()
        self._behind.clear()
        self._end = self.head
        self._forget_read()
        for subscriber in subscribers:
            _cut(subscriber)

    def _serve(self, subscriber: Subscriber) -> BaseException | None:
        if subscriber not in self._behind:
            return SERVED  # it has left while another subscriber was woken
        error: BaseException | None = None
        try:
            if not _is_lost(subscriber, self._end - self._cursors[subscriber]):
                subscriber.wake(self)
                return SERVED
        except BaseException as raised:  # an error of a subscriber must not crash the actor
            error = raised
        self._cursors.pop(subscriber, None)
        self._behind.pop(subscriber, None)
        return _cut(subscriber) or error

    def _forget_read(self) -> None:
        """Drop the events that all subscribers have read."""
        if self.is_held and self._cursors:
            return
        if not self._behind:
            read = self._end - self._first
        elif len(self._log) >= self._trim_at:
            read = min(self._cursors[subscriber] for subscriber in self._behind) - self._first
        else:
            return
        self._number(self._first + read)
        del self._log[:read]
        self._first += read
        self._trim_at = len(self._log) + CROWDED

    def _number(self, end: int) -> None:
        """Give the events up to a position their ids, in order: later ids include the earlier events."""
        for place in range(self._numbered - self._first, end - self._first):
            event, key, _ = self._log[place]
            self._log[place] = Logged(event, key, self._progress.after(event.publication, key))
        self._numbered = max(self._numbered, end)


def _is_lost(subscriber: Subscriber, lag: int) -> bool:
    """True if a subscriber so many events behind is to be cut."""
    if lag <= subscriber.room or subscriber.blocked_since is None:
        return False
    return lag > max(subscriber.room, HELD) or trio.current_time() - subscriber.blocked_since >= STALLED


def _cut(subscriber: Subscriber) -> BaseException | None:
    try:
        subscriber.cut()
    except BaseException as raised:
        return raised
    return None


def key_of(subject: int) -> str:
    """Return the key of the event that shows a subject."""
    return str(subject)


def key_of_gone(subject: int) -> str:
    """Return the key of the event that retracts a subject."""
    return f"d{subject}"
