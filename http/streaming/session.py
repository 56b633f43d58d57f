"""One streaming connection: the streams it reads and one bounded queue of frames on their way out.

A subscriber never waits: what it takes is rendered into the queue at once. A connection that lets its queue fill up is
ended, never skipped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum

import orjson
import trio

from ...actors.broadcast import account_address
from ...actors.kernel import Address, Event, Origin, Runtime
from ...actors.rules.visibility import ANONYMOUS, Perspective
from ...actors.statuses import Shown, entry_of
from ...actors.timelines.list import ListOwner
from ...actors.timelines.public import sieve
from ...storage.oauth import Token
from ..errors import HttpError, Unauthorized
from .channels import NOT_ONES_OWN, Wanted, check

# Seconds in which a connection that ends may still take its last words.
FAREWELL = 1.0
# Streams on one connection: far more than any client opens, and little enough to stay cheap.
MOST_STREAMS = 100

Frame = Callable[[Event, bytes], bytes]


class End(Enum):
    """Why a session ends: the WebSocket's close code and reason. Only the first two leave time for what is queued."""

    STOPPING = 1001, "The server is shutting down"
    LOST = 1013, "This stream failed, connect again"
    SLOW = 1008, "The connection is too slow"
    REVOKED = 1008, "The access token was revoked"
    BINARY = 1003, "Only text is understood"

    @property
    def code(self) -> int:
        return self.value[0]

    @property
    def reason(self) -> str:
        return self.value[1]

    @property
    def orderly(self) -> bool:
        return self in (End.STOPPING, End.LOST)


class TooManyStreams(HttpError):
    status = 422


class Session:
    """The inner half of a connection; the outer half takes frames from it and sends them."""

    def __init__(self, runtime: Runtime, token: Token | None, origin: Origin, frame: Frame, room: int) -> None:
        self.token = token
        self.sifts = sieve(ANONYMOUS)
        self.ended: End | None = None
        self.speaking = trio.CancelScope()  # around the sending; it has a deadline once the session has ended
        self._runtime = runtime
        self._origin = origin
        self._frame = frame
        self._room = room
        self._queue: deque[bytes] = deque()
        self._arrival = trio.lowlevel.ParkingLot()
        self._subscriptions: dict[tuple[str, str], Subscription] = {}
        self._watch: Watch | None = None

    @property
    def account_id(self) -> int | None:
        return self.token.account_id if self.token else None

    # -- streams

    async def watch_account(self) -> None:
        """Follow what the account's blocks and mutes hide, for as long as the connection lasts."""
        if self.account_id is not None:
            self._watch = Watch(self)
            await self._join(account_address(self.account_id), self._watch)

    async def subscribe(self, wanted: Wanted) -> None:
        """Open a stream; once it is open nothing changes. Raises what `check` raises, and NotAnswered."""
        if wanted.key in self._subscriptions:
            return
        check(wanted, self.token)
        await self._check_owner(wanted)
        if len(self._subscriptions) >= MOST_STREAMS:
            raise TooManyStreams("Too many streams on one connection")
        subscription = self._subscriptions[wanted.key] = Subscription(self, wanted)
        if subscription.address is not None:
            try:
                await self._join(subscription.address, subscription)
            except Exception:
                del self._subscriptions[wanted.key]
                raise

    def unsubscribe(self, wanted: Wanted) -> None:
        """Close a stream; one that is not open stays so."""
        subscription = self._subscriptions.pop(wanted.key, None)
        if subscription is not None and subscription.address is not None:
            self._runtime.unsubscribe(subscription.address, subscription)

    def leave(self) -> None:
        """Let go of every feed: the connection is over."""
        self.end(End.LOST)
        if self._watch is not None and self.account_id is not None:
            self._runtime.unsubscribe(account_address(self.account_id), self._watch)
        for subscription in self._subscriptions.values():
            if subscription.address is not None:
                self._runtime.unsubscribe(subscription.address, subscription)
        self._subscriptions.clear()

    async def _check_owner(self, wanted: Wanted) -> None:
        """A list is streamed to its owner alone; other people's are as unknown as those that nobody has."""
        address = wanted.address(self.account_id)
        if wanted.channel.parameter != "list" or address is None:
            return
        if await self._runtime.ask(address, ListOwner(), origin=self._origin) != self.account_id:
            raise Unauthorized(NOT_ONES_OWN)

    async def _join(self, address: Address, subscriber: Subscription | Watch) -> None:
        # Shielded, because a message that nobody waits for any more would still join: the feed would keep it for ever.
        with trio.CancelScope(shield=True):
            await self._runtime.subscribe(address, subscriber, origin=self._origin)

    # -- frames

    def show(self, event: Event, label: bytes) -> bool:
        """Queue an event; False when the queue is full, and the session then ends."""
        return self.say(self._frame(event, label))

    def say(self, frame: bytes) -> bool:
        """Queue a frame, with the same answer."""
        if self.ended is not None:
            return True
        if len(self._queue) >= self._room:
            self.end(End.SLOW)
            return False
        self._queue.append(frame)
        self._arrival.unpark()
        return True

    async def take(self) -> bytes | None:
        """The next frame; None when the session has ended."""
        while not self._queue:
            if self.ended is not None:
                return None
            await self._arrival.park()
        return self._queue.popleft()

    def end(self, why: End) -> None:
        """Send nothing new, and be done within a moment; only the first reason counts."""
        if self.ended is not None:
            return
        self.ended = why
        if not why.orderly:
            self._queue.clear()
        self.speaking.deadline = trio.current_time() + FAREWELL
        self._arrival.unpark()


class Subscription:
    """One stream of one session: a subscriber of one actor's feed."""

    __slots__ = ("_label", "_session", "_shows", "_wanted", "address")

    def __init__(self, session: Session, wanted: Wanted) -> None:
        self.address = wanted.address(session.account_id)
        self._session = session
        self._wanted = wanted
        self._shows = wanted.shows(session.token)
        self._label = orjson.dumps(wanted.label)

    def push(self, event: Event) -> bool:
        if event.kind not in self._shows or not self._admits(event.subject):
            return True
        return self._session.show(event, self._label)

    def cut(self) -> None:
        self._session.end(End.LOST)

    def _admits(self, subject: object) -> bool:
        """A public timeline's feed is everybody's: what this viewer hides or did not ask for is left out."""
        channel = self._wanted.channel
        if not isinstance(subject, Shown):
            return True
        if channel.only_named:
            return self._session.account_id in subject.status.mentioned_ids
        if not channel.public:
            return True
        if channel.only_media and not subject.status.media_ids:
            return False
        if channel.only_local and not subject.status.local:
            return False
        sifts = self._session.sifts
        return sifts is None or sifts(entry_of(subject))


class Watch:
    """A subscriber of the account's own feed: every change of its perspective. Never shown to the client."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def push(self, event: Event) -> bool:
        if isinstance(event.subject, Perspective):
            self._session.sifts = sieve(event.subject)
        return True

    def cut(self) -> None:
        self._session.end(End.LOST)
