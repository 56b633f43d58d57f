"""Clients on streams, and the claims on what they are shown.

A `FeedStream` is a subscriber of a feed itself. When it is cut, it connects again and pages to the events that it
missed. `resuming.py` has clients that resume from ids, as those of the API do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Protocol

from ....actors.broadcast.events import (
    NotificationShown,
    NotificationsMerged,
    StatusAmended,
    StatusAppeared,
    StatusGone,
)
from ....actors.kernel import Address, Event, Feed
from ....actors.rules.visibility import ANONYMOUS
from ....actors.shown.statuses import ShownStatus, quote_state
from ..faults import Fault
from ..run import Broken, Run
from .patience import Restarting, insist


class Feeds(Protocol):
    """The actors of a server, or of any of several servers."""

    async def subscribe(self, address: Address, subscriber: FeedStream) -> None: ...


class Streaming(Restarting, Protocol):
    """A server with streams."""

    @property
    def runtime(self) -> Feeds: ...

    def reopen(self, stream: FeedStream) -> None: ...


class Stream(ABC):
    """A client on a stream: what it was shown, and whether that was right."""

    def __init__(self, run: Run, name: str) -> None:
        self.name = name
        self.pushed: list[int] = []  # statuses in the order in which they were pushed
        self.seen: list[int] = []  # pushed statuses, and statuses found on pages because events were missed
        self.gone: list[int] = []  # deletions
        self.notified: list[int] = []
        self.merges = 0  # how often filtered notifications were merged with the others
        self.said: list[tuple[int, str]] = []  # the texts of statuses, when they came and at each edit
        self.quotes: list[tuple[int, str | None]] = []  # the states of their quotes, in the order of `seen`
        self.cards: dict[int, str | None] = {}  # the titles of the cards that statuses were last shown with
        self.policies: dict[int, str] = {}  # the quote policies that statuses were last shown with
        self.cuts: int = 0
        self.open = False  # connected, and up to date
        self._run = run
        self._newest: dict[int, int] = {}  # by author
        self._wrong: str | None = None

    @abstractmethod
    async def connect(self) -> None:
        """Open the stream: everything that is committed from now on is shown."""

    def check(self) -> None:
        """Raise an error if the stream showed something wrong."""
        if self._wrong is not None:
            raise Broken(f"{self.name} {self._wrong}")

    def _update(self, id: int, author: int, text: str) -> None:
        if id in self.pushed:
            self._wrong = f"is shown status {id} twice"
        elif id in self.gone:
            self._wrong = f"is shown status {id} after its deletion"
        elif id < self._newest.get(author, 0):
            self._wrong = f"is shown status {id} after a newer status of the same author"
        self._newest[author] = max(id, self._newest.get(author, 0))
        self.said.append((id, text))
        self.pushed.append(id)
        if id not in self.seen:
            self.seen.append(id)

    def _edit(self, id: int, text: str) -> None:
        if id in self.gone:
            self._wrong = f"is shown an edit of status {id} after its deletion"
        self.said.append((id, text))

    def _notify(self, id: int) -> None:
        if id in self.notified:
            self._wrong = f"is shown notification {id} twice"
        self.notified.append(id)


class FeedStream(Stream):
    """A subscriber of a feed. Faults make it too slow, or kill it: both times it connects again, and reads the page."""

    def __init__(
        self, server: Streaming, name: str, address: Address, read: Callable[[], Awaitable[list[int]]]
    ) -> None:
        super().__init__(server.run, name)
        self.room = 0
        self.blocked_since: float | None = None
        self._server = server
        self._address = address
        self._read = read

    # Called by the feed

    def wake(self, feed: Feed) -> None:
        faults = self._server.run.faults
        while events := feed.read(self, 1):
            if faults.strikes(Fault.SLOW, self.name):
                feed.unsubscribe(self)
                self.cut()
                return
            if faults.strikes(Fault.DEAD, self.name):
                raise ConnectionResetError(f"{self.name} is gone")
            self._take(events[0].event)

    def cut(self) -> None:
        self.open = False
        self.cuts += 1
        self._server.reopen(self)

    # The client's own actions

    async def connect(self) -> None:
        cuts = self.cuts
        await self._subscribe()
        self._opened(cuts)

    async def reconnect(self) -> None:
        """Subscribe again, and only then read the pages for missed statuses."""
        cuts = self.cuts
        await self._subscribe()
        for id in reversed(await self._read()):
            if id not in self.seen:
                self.seen.append(id)
        self._opened(cuts)

    def _opened(self, cuts: int) -> None:
        """Open, unless the stream was cut meanwhile: then another attempt is in progress or has finished."""
        if self.cuts == cuts:
            self.open = True

    async def _subscribe(self) -> None:
        await insist(self._server, self.name, lambda: self._server.runtime.subscribe(self._address, self))

    def _take(self, event: Event) -> None:
        self._run.note(f"is shown {type(event).__name__}", self.name)
        match event:
            case StatusAppeared(shown):
                self._update(shown.id, shown.status.account_id, shown.status.text)
                self._read_status(shown)
            case StatusAmended(shown):
                self._edit(shown.id, shown.status.text)
                self._read_status(shown)
            case StatusGone(id):
                self.gone.append(id)
            case NotificationShown(told):
                self._notify(told.id)
            case NotificationsMerged():
                self.merges += 1
            case _:
                pass

    def _read_status(self, shown: ShownStatus) -> None:
        self.quotes.append((shown.id, quote_state(shown, ANONYMOUS)))
        self.cards[shown.id] = shown.status.card.facts.title if shown.status.card else None
        self.policies[shown.id] = shown.status.quote_policy
