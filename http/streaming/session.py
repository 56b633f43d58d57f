"""A streaming connection: its subscriptions, and its flow control.

Each subscription is a cursor over a feed. The next events are read from the feeds when the socket has accepted the
previous events. A connection whose client does not read is closed; no event is skipped.

While this node of a cluster may have missed facts of other nodes (`Others.is_complete`), a stream pauses: its events
wait in the feeds, and their checks by rules and withdrawals are made when they are sent. Answers to the client's
commands and pings are sent. A paused stream may be any number of events behind, is not slow, and publishers do not wait
for it. New connections get 503, so that a proxy tries another node. New streams of an open connection are accepted, and
pause as its others: most apps ignore an error about a stream, and would wait for its events for ever.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from sys import maxsize
from typing import Protocol

import orjson
import trio

from ...actors.account import PerspectiveOf
from ...actors.broadcast.broadcast import account_address
from ...actors.broadcast.events import ConversationShown, FiltersChanged, NotificationShown, StatusAmended, StatusEvent
from ...actors.broadcast.publications import LOGGED_WITHIN
from ...actors.broadcast.viewers import ViewerRules, Viewers
from ...actors.cluster.others import Others
from ...actors.kept.withdrawals import Withdrawals
from ...actors.kernel import Address, Event, Feed, Origin, Record, Runtime
from ...actors.kernel.errors import describe
from ...actors.kernel.feed import Logged
from ...actors.kernel.resumption import ResumptionPoint
from ...actors.rules.visibility import ANONYMOUS, belongs_at_home, belongs_by_author, visible
from ...actors.shown.statuses import entry_of
from ...actors.timelines.list import ListOwner
from ...actors.timelines.missed import Missed, MissedEvents
from ...actors.timelines.public import viewer_filter
from ...storage.oauth import Token
from ..access.streams import Pump, StreamCounts, StreamEnd, StreamSnapshot
from ..answers.errors import HttpError, Unauthorized
from ..entities.rendered import exact
from .channels import CONVERSATIONS, NOT_OWN_LIST, NOTIFICATIONS, RequestedStream, check
from .frames import ABOUT_STREAM, NO_VIEWER, Frames, StreamGap, StreamResumed

# Seconds in which a connection that ends may still send its last frames.
FAREWELL = 1.0
# The value of `since` of a client that only wants the id from which it can resume.
NOW = "now"
# A value of `since` that is not an id: the stream begins with a gap, and no missed events are read.
UNKNOWN = "unknown"
# Seconds in which this node reaches the position of an id from another node, or the stream begins with a gap: longer
# than the other nodes take to remove a node that has died. And the seconds between two looks.
REACHED_WITHIN = 15.0
LOOK_AGAIN = 0.05
# Streams on a connection: far more than any client opens, and cheap enough.
MOST_STREAMS = 100
# Answers to the client's frames that may wait until the client reads.
MOST_ANSWERS = 256
# No more frames are added to a batch of this many bytes. Events that are read from a stream in a row.
BATCH = 32 * 1024
READ_AT_ONCE = 16
# Cached names of streams as JSON. Most streams share a few names.
LABELS_KEPT = 1_000


class StreamOutput(Protocol):
    """An output to a client that never blocks."""

    @property
    def is_full(self) -> bool:
        """True if the client has not taken all sent bytes. Nothing more is sent until then."""
        ...

    def send_now(self, frames: list[bytes]) -> None:
        """Send frames. Bytes that the client does not take at once are buffered."""
        ...

    def finish(self, why: StreamEnd) -> None:
        """Send the closing bytes after the last frames, and close the connection."""
        ...

    def end_by(self, at: float) -> None:
        """Close the connection at this time at the latest."""
        ...


class TooManyStreams(HttpError):
    status = 422


class StreamSession:
    """The streams of a connection as a queue of frames, for an output, or for a task that calls `take`."""

    __slots__ = (
        "_answers", "_frames", "_held", "_is_in_pump", "_missed", "_news", "_opened_at", "_origin", "_others",
        "_output", "_pump", "_record", "_runtime", "_sender", "_sending", "_subscriptions", "_viewer", "_viewers",
        "_withdrawals", "address", "blocked_since", "ended", "narrowed", "room", "rules", "sifts", "token",
    )  # fmt: skip

    def __init__(
        self,
        runtime: Runtime,
        viewers: Viewers,
        withdrawals: Withdrawals,
        others: Others,
        token: Token | None,
        origin: Origin,
        frames: Frames,
        room: int,
        record: Record,
        address: str = "",
    ) -> None:
        self.token = token
        self.address = address  # of the client
        self.sifts = viewer_filter(ANONYMOUS)
        self.narrowed = False  # as in `ViewerRules`
        self.rules: ViewerRules | None = None  # of the account; None for a visitor
        self._viewer = NO_VIEWER  # with the filters and the perspective of the account
        self._viewers = viewers
        self._withdrawals = withdrawals
        self._others = others
        self.ended: StreamEnd | None = None
        self._sending: trio.CancelScope | None = None  # of a task that sends; it gets a deadline when the session ends
        self._runtime = runtime
        self._origin = origin
        self._frames = frames
        self._record = record
        self.room = room  # events that each stream may be behind when the client does not read
        # The session counts as blocked before the first frame, so that feeds do not wait for it.
        self._opened_at = trio.current_time()
        self.blocked_since: float | None = self._opened_at
        self._answers: list[bytes] = []
        self._news: dict[Subscription, Feed] = {}  # subscriptions with unread events, in the order of `wake`
        # The missed events of resumed streams, which are sent before the events of their feeds.
        self._missed: dict[Subscription, deque[Logged]] = {}
        self._held: dict[Subscription, Feed | None] = {}  # resumed streams, with the feed if it has unread events
        self._sender: trio.lowlevel.Task | None = None  # the task in `take`, while it waits
        self._output: StreamOutput | None = None
        self._pump: Pump | None = None
        self._is_in_pump = False
        self._subscriptions: dict[tuple[str, str], Subscription] = {}

    def snapshot(self, now: float) -> StreamSnapshot:
        """Return the session as operators see it."""
        runtime, subscriptions = self._runtime, self._subscriptions.values()
        lags = [runtime.lag(reader.address, reader) for reader in subscriptions if reader.address is not None]
        blocked = now - self.blocked_since if self.blocked_since is not None else 0.0
        names = tuple(" ".join(filter(None, key)) for key in self._subscriptions)
        return StreamSnapshot(
            self.account_id, names, self._origin.request_id, now - self._opened_at, max(lags, default=0), blocked
        )

    @property
    def account_id(self) -> int | None:
        return self.token.account_id if self.token else None

    @property
    def counts(self) -> StreamCounts:
        """The counts of all WebSockets, or of all streams of server-sent events."""
        return self._frames.counts

    @property
    def is_paused(self) -> bool:
        """True while this node may have missed facts, so that no events are sent."""
        return not self._others.is_complete

    # -- streams

    async def watch_account(self) -> None:
        """Apply the account's blocks, mutes and filters, as long as the connection lasts."""
        if self.account_id is not None:
            self.rules = self._viewers.watch(self.account_id, self)
            # The account's actor reads the rows when it starts.
            await self._runtime.ask(account_address(self.account_id), PerspectiveOf(), origin=self._origin)
            self.use_rules(filters_changed=False)

    async def subscribe(self, wanted: RequestedStream, since: str = "") -> None:
        """Open a stream, unless it is open already. `since` is the id of the last event that the client has received.

        Raises the errors of `check`, and NotAnswered.
        """
        if wanted.key in self._subscriptions:
            return
        check(wanted, self.token)
        await self._check_owner(wanted)
        if len(self._subscriptions) >= MOST_STREAMS:
            raise TooManyStreams("Too many streams on one connection")
        subscription = self._subscriptions[wanted.key] = Subscription(self, wanted)
        if subscription.address is not None:
            try:
                if since:
                    await self._resume(subscription, subscription.address, since)
                else:
                    await self._join(subscription.address, subscription)
            except Exception:
                self.unsubscribe(wanted)
                raise

    def unsubscribe(self, wanted: RequestedStream) -> None:
        """Close a stream if it is open."""
        subscription = self._subscriptions.pop(wanted.key, None)
        if subscription is not None and subscription.address is not None:
            for waiting in (self._news, self._missed, self._held):
                waiting.pop(subscription, None)
            self._runtime.unsubscribe(subscription.address, subscription)

    def close(self) -> None:
        """End the session and unsubscribe from every feed, because the connection is closed."""
        self._output = None
        self.end(StreamEnd.LOST)
        if self.rules is not None:
            self.rules.stop_watching(self)
        for subscription in self._subscriptions.values():
            if subscription.address is not None:
                self._runtime.unsubscribe(subscription.address, subscription)
        self._subscriptions.clear()

    def use_rules(self, *, filters_changed: bool) -> None:
        """Apply the current rules of the account. Called after each fact that changes them."""
        if self.rules is None:
            return
        filters, perspective = self.rules.filters, self.rules.perspective
        self.sifts = viewer_filter(perspective)
        self.narrowed = self.rules.narrowed
        self._viewer = replace(self._viewer, filters=filters, perspective=perspective)
        if filters_changed:
            event = FiltersChanged()
            for subscription in self._subscriptions.values():
                if subscription.admits(event):
                    self.reply(self._frames.frame(event, subscription.label))

    async def _check_owner(self, wanted: RequestedStream) -> None:
        """Refuse a list of another account, with the error for a list that does not exist."""
        address = wanted.address(self.account_id)
        if wanted.channel.parameter != "list" or address is None:
            return
        if await self._runtime.ask(address, ListOwner(), origin=self._origin) != self.account_id:
            raise Unauthorized(NOT_OWN_LIST)

    async def _resume(self, subscription: Subscription, address: Address, since: str) -> None:
        """Join a feed. Send the events missed since an id before the events of the feed."""
        point = ResumptionPoint.read(since)
        missed = await self._reach(address, point.position if point is not None else 1)
        # Held before it joins: events that arrive meanwhile are sent after the missed events.
        self._held[subscription] = None
        await self._join(address, subscription)
        if point is not None:
            asked = MissedEvents(point.position, point.keys)
            missed = await self._runtime.ask(address, asked, origin=self._origin)
        elif since != NOW:
            missed = replace(missed, complete=False)
        if self.ended is not None:  # meanwhile, for example because the token was revoked
            return
        self._missed[subscription] = deque(subscription.resumed(missed, point))
        self._wake_sender()

    async def _reach(self, address: Address, position: int) -> Missed:
        """Wait until the log is known to be complete up to a position, which another node may have reached first.

        Until then, facts in the log up to the position may not have arrived here, and the feed would show them again.
        The subscription joins the feed after them. No turn waits meanwhile, because other clients share the timeline.
        """
        last_look = trio.current_time() + REACHED_WITHIN
        while True:
            missed = await self._runtime.ask(address, MissedEvents(), origin=self._origin)
            if not missed.position < position <= missed.newest or trio.current_time() >= last_look:
                return missed
            await trio.sleep(LOOK_AGAIN)

    async def _join(self, address: Address, subscriber: Subscription) -> None:
        # Shielded: if this task is cancelled, the actor would still add the subscription, and nothing would remove it.
        with trio.CancelScope(shield=True):
            await self._runtime.subscribe(address, subscriber, origin=self._origin)

    # -- frames

    def reply(self, frame: bytes) -> None:
        """Queue an answer to a frame of the client. A client that reads no answers is disconnected."""
        if self.ended is not None:
            return
        if len(self._answers) >= MOST_ANSWERS:
            self.end(StreamEnd.SLOW)
            return
        self._answers.append(frame)
        self._wake_sender()

    def wake(self, subscription: Subscription, feed: Feed) -> None:
        """Called when a subscription has unread events."""
        if self.ended is not None:
            return
        if subscription in self._held:
            self._held[subscription] = feed
            return
        self._news[subscription] = feed
        self._wake_sender()

    async def take(self) -> list[bytes]:
        """Return the next frames, which are sent together; an empty list if the session has ended.

        Events are read from the feeds only here. So the unread events of a slow client wait in the feed, which all
        subscribers share, and not in a queue of each session.
        """
        self.blocked_since = None
        if self._has_events:  # the last call has left some: let other tasks run first
            await trio.lowlevel.checkpoint()
        while not (frames := self._next_frames()) and self.ended is None:
            await self._wait_for_news()
        return frames

    def attach(self, output: StreamOutput, pump: Pump) -> None:
        """Let the pump send new frames to this output from now on."""
        self.blocked_since = None
        self._output, self._pump = output, pump
        self._wake_sender()

    def send_now(self) -> None:
        """Send the next frames. Called by the pump."""
        output = self._output
        if output is not None and not output.is_full:
            try:
                if frames := self._next_frames():
                    output.send_now(frames)
            except Exception as error:  # ends this connection, not the pump
                self.fail(StreamEnd.LOST, describe(error))
        self._is_in_pump = False
        if output is None:
            return
        if output.is_full:
            if self.blocked_since is None:
                self.made_progress()
        elif self._answers or self._has_events:
            self._wake_sender()  # behind other streams
        elif self.ended is not None:
            output.finish(self.ended)

    def go_on(self) -> None:
        """Called when the client has taken all sent bytes."""
        self.blocked_since = None
        self._wake_sender()

    def resume(self) -> None:
        """Called when this node is complete again: send the events that have waited."""
        for subscription, feed in (*self._news.items(), *self._held.items()):
            if feed is not None:
                subscription.backlog = feed.lag(subscription)
        if self._has_events:
            self._wake_sender()

    @property
    def _has_events(self) -> bool:
        """True if there are events to send now."""
        return bool(self._news or self._missed) and self._others.is_complete

    # Not a parking lot, which costs more: this happens once for each event and subscriber.
    async def _wait_for_news(self) -> None:
        self._sender = trio.lowlevel.current_task()
        await trio.lowlevel.wait_task_rescheduled(self._stop_waiting)

    def _wake_sender(self) -> None:
        if self._output is not None and self._pump is not None:
            if not self._is_in_pump and not self._output.is_full:
                self._is_in_pump = True
                self._pump.add(self)
        elif self._sender is not None:
            trio.lowlevel.reschedule(self._sender)
            self._sender = None

    def _stop_waiting(self, _: object) -> trio.lowlevel.Abort:
        self._sender = None
        return trio.lowlevel.Abort.SUCCEEDED

    @contextmanager
    def sending(self) -> Generator[None]:
        """Mark the session as blocked during the block, so that feeds and publishers do not wait for it."""
        self.made_progress()
        try:
            yield
        finally:
            self.blocked_since = None

    @contextmanager
    def sending_until_end(self) -> Generator[None]:
        """Cancel the block `FAREWELL` seconds after the end of the session. For a task that calls `take`."""
        with trio.CancelScope() as self._sending:
            if self.ended is not None:
                self._sending.deadline = trio.current_time() + FAREWELL
            yield

    def made_progress(self) -> None:
        """Called when the client has accepted some bytes, or a send begins."""
        self.blocked_since = trio.current_time()

    def end(self, why: StreamEnd) -> None:
        """End the session: no new events are sent, the last frames have a deadline. Only the first reason counts."""
        if self.ended is not None:
            return
        self.ended = why
        if why.orderly:
            self._answers = self._next_frames()
        else:
            self._answers.clear()
        self._news.clear()
        self._missed.clear()
        last = trio.current_time() + FAREWELL
        if self._output is not None:
            self._output.end_by(last)
        elif self._sending is not None:
            self._sending.deadline = last
        self._wake_sender()

    def fail(self, why: StreamEnd, error: str) -> None:
        """End the session, and log the reason."""
        if self.ended is None:
            self._record(
                "stream.cut", actor=str(self._place), request_id=self._origin.request_id, error=error, decision="cut"
            )  # fmt: skip
            self.end(why)

    @property
    def _place(self) -> Address | None:
        """The address of the first subscription with a feed, for the log."""
        return next((reader.address for reader in self._subscriptions.values() if reader.address is not None), None)

    def _next_frames(self) -> list[bytes]:
        frames, self._answers = self._answers, []
        size = 0
        try:
            while size < BATCH and self._has_events:
                subscription, events = self._next_events()
                for logged in events:
                    if (frame := self._frame_of(subscription, logged)) is not None:
                        frames.append(frame)
                        size += len(frame)
        except Exception as error:  # an event that can't be rendered ends only this connection
            self.fail(StreamEnd.LOST, describe(error))
        self.counts.events += len(frames)
        return frames

    def _next_events(self) -> tuple[Subscription, list[Logged]]:
        """Take the next events of a stream. Missed events come before the events of its feed."""
        if not self._missed:
            subscription, feed = next(iter(self._news.items()))
            events = feed.read(subscription, READ_AT_ONCE)
            if len(events) < READ_AT_ONCE:
                del self._news[subscription]
                if not feed.is_held:  # else it has read nothing, and is woken again
                    subscription.backlog = 0
            return subscription, events
        subscription, missed = next(iter(self._missed.items()))
        events = [missed.popleft() for _ in range(min(READ_AT_ONCE, len(missed)))]
        if not missed:
            del self._missed[subscription]
            if (held := self._held.pop(subscription)) is not None:
                self._news[subscription] = held
        return subscription, events

    def _frame_of(self, subscription: Subscription, logged: Logged) -> bytes | None:
        event, withdrawals = logged.event, self._withdrawals
        # Checked once for all subscribers; the result is in the event.
        _, latest = event.checked if event.checked[0] == withdrawals.facts else withdrawals.check(event)
        if latest is None or subscription.has_shown(logged):
            return None
        is_newer, event = latest is not event, latest
        if not subscription.admits(event, is_newer=is_newer):
            return None
        filters = self._viewer.filters
        context = subscription.hiding_context(event) if filters else None
        if context and self._frames.is_hidden(event, self.account_id, context, filters):
            return None
        return self._frames.frame(event, subscription.label, self._viewer, subscription.id_of(logged))


class Subscription:
    """A stream of a session: a subscriber of an actor's feed."""

    __slots__ = (
        "_is_plain",
        "_known",
        "_missed",
        "_resumed_at",
        "_sent",
        "_session",
        "_shows",
        "_wanted",
        "address",
        "backlog",
        "label",
    )

    def __init__(self, session: StreamSession, wanted: RequestedStream) -> None:
        self.address = wanted.address(session.account_id)
        self.label = _label(wanted.label)
        self._session = session
        self._wanted = wanted
        channel = wanted.channel
        self._is_plain = not (channel.only_media or channel.only_local or channel.only_notified)
        self._shows = wanted.shows(session.token)
        self._missed: Missed | None = None  # the missed events that a resumed stream has sent
        self._known = frozenset[str]()  # keys of events that the client has received
        # The point after the missed events. The feed may publish the events with its keys later.
        self._resumed_at: ResumptionPoint | None = None
        self._sent: ResumptionPoint | None = None  # `_resumed_at`, while the ids of the feed may not include it
        self.backlog = 0  # events that waited because of a pause; until all are sent, the client may be behind by them

    @property
    def room(self) -> int:
        return maxsize if self._session.is_paused else self._session.room + self.backlog

    @property
    def blocked_since(self) -> float | None:
        # A paused stream could not be sent more at once, and has not waited for its client.
        return trio.current_time() if self._session.is_paused else self._session.blocked_since

    def wake(self, feed: Feed) -> None:
        self._session.wake(self, feed)

    def cut(self) -> None:
        """Called if the feed no longer has the next event, or, if the client is not blocked, if the actor is gone."""
        self._session.end(StreamEnd.LOST if self._session.blocked_since is None else StreamEnd.SLOW)

    def resumed(self, missed: Missed, point: ResumptionPoint | None) -> Iterator[Logged]:
        """Yield the events missed after a point, then the final event. Their ids replace the ids of the feed."""
        keys = list(point.keys) if point is not None else []
        self._known, self._missed = frozenset({*keys, *(entry.key for entry in missed.events if entry.key)}), missed
        for entry in missed.events:
            position = missed.position
            if entry.position is not None and entry.position <= position:
                position = entry.position
            elif entry.key:
                keys.append(entry.key)
            yield Logged(entry.event, "", str(ResumptionPoint(position, tuple(keys))))
        self._resumed_at = ResumptionPoint(missed.position, tuple(keys))
        end = StreamResumed() if missed.complete else StreamGap(point.time if point is not None else None)
        yield Logged(end, "", str(self._resumed_at))

    def has_shown(self, logged: Logged) -> bool:
        """True for an event of the feed that a resumed stream has already sent."""
        if self._missed is None:
            return False
        return logged.key in self._known or self._missed.includes(logged.event)

    def id_of(self, logged: Logged) -> str:
        """Return the id of an event for the client. After a resumption it includes what the resumed stream has sent."""
        if type(logged.event) in ABOUT_STREAM:  # the missed events were sent; the ids of the feed follow
            self._sent = self._resumed_at
            return logged.id
        sent, missed = self._sent, self._missed
        if sent is None or missed is None:
            return logged.id
        if (point := ResumptionPoint.read(logged.id)) is None:  # the feed has shown only events from rows
            point = self._sent = replace(sent, keys=(*sent.keys, *filter(None, [logged.key])))
            return str(point)
        if point.position >= (missed.newest + LOGGED_WITHIN if sent.keys else sent.position):
            self._sent = None  # the ids of the feed are enough
            return logged.id
        keys = {**dict.fromkeys(sent.keys), **dict.fromkeys(point.keys)}
        return str(ResumptionPoint(max(sent.position, point.position), tuple(keys)))

    def admits(self, event: Event, *, is_newer: bool = False) -> bool:
        """True if the stream shows this event to its viewer.

        `is_newer`: the event has newer records than those by which its timeline has admitted it.
        """
        if type(event) not in self._shows:
            return type(event) in ABOUT_STREAM
        if isinstance(event, StatusEvent):
            return self._admits(event, is_newer=is_newer)
        rules = self._session.rules
        match event:
            case NotificationShown(notification):
                return rules is None or rules.shows_notification(notification)
            case ConversationShown(conversation):
                return rules is None or rules.shows_conversation(conversation)
            case _:
                return True

    def hiding_context(self, event: Event) -> str | None:
        """Return the context whose filters hide an event; None if only clients hide it. Lists count as home."""
        channel = self._wanted.channel
        if type(event) in NOTIFICATIONS or channel.only_notified:
            return "notifications"
        return None if channel.public or type(event) in CONVERSATIONS else "home"

    def _admits(self, event: StatusEvent, *, is_newer: bool) -> bool:
        """True if the viewer may see the status and it belongs in the stream.

        Viewers of a public timeline share its feed, so it is filtered here. The viewer may also have blocked the author
        after the event was made.
        """
        session = self._session
        if self._is_plain and session.sifts is None and not (is_newer or session.narrowed):
            return True  # nearly always
        channel, shown = self._wanted.channel, event.status
        if channel.only_notified and isinstance(event, StatusAmended) and session.account_id not in event.notified:
            return False
        if channel.only_media and not shown.status.media_ids:
            return False
        if channel.only_local and not shown.status.local:
            return False
        sifts, rules = session.sifts, session.rules
        asks_again = is_newer or (not channel.public and session.narrowed)
        if sifts is None and not asks_again:
            return True
        entry = entry_of(shown)
        if sifts is not None and not sifts(entry):
            return False
        if not asks_again:
            return True
        if channel.public or rules is None:
            return not entry.silenced
        if isinstance(event, StatusAmended):  # the timeline may have a boost: the author need not be followed
            return visible(entry, rules.perspective)
        belongs = belongs_by_author if channel.parameter == "list" else belongs_at_home
        return belongs(entry, rules.perspective)


@lru_cache(maxsize=LABELS_KEPT)
def _label(name: tuple[str, ...]) -> bytes:
    """Return the name of a stream as JSON."""
    return exact(orjson.dumps(name))
