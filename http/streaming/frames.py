"""Events as clients read them. Each is rendered once, and the same bytes go to all viewers who see the same of it.

Most viewers may quote a status or may not, and see the status that it quotes or do not: each group gets bytes of its
own. A viewer whose filters match gets the same with the matches in them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from datetime import datetime

import orjson

from ...actors.account import ViewerPart
from ...actors.broadcast.events import (
    AnnouncementGone,
    AnnouncementShown,
    ConversationShown,
    FiltersChanged,
    NotificationShown,
    NotificationsMerged,
    ReactionCounted,
    StatusAmended,
    StatusAppeared,
    StatusEvent,
    StatusGone,
)
from ...actors.kernel import Event
from ...actors.rules.filters import NO_FILTERS, Filters
from ...actors.shown.statuses import ShownStatus
from ..access.streams import StreamCounts
from ..entities.filter import is_hidden, matches_in
from ..entities.instance import announcement_fields, reaction_fields
from ..entities.notification import notification_json
from ..entities.rendered import Renderings
from ..entities.status import status_json, variant
from ..entities.timeline import conversation_json
from ..entities.times import instant

# For no account: a status for all viewers, with the viewer's part in it and every flag false. Streams add what their
# viewer hides: the filters and the perspective.
NO_VIEWER = ViewerPart(0, {})


@dataclass(frozen=True, slots=True)
class StreamResumed(Event):
    """All that a client missed was sent. From the id of this event on it can resume."""


@dataclass(frozen=True, slots=True)
class StreamGap(Event):
    """Events since this time are missing, because there are too many or they are too old. None: since when is unknown.

    The client reads its timelines anew.
    """

    since: datetime | None


# Events of one connection, which all its streams show.
ABOUT_STREAM: frozenset[type[Event]] = frozenset({StreamResumed, StreamGap})

# What clients call the events.
NAMES: dict[type[Event], bytes] = {
    StatusAppeared: b"update",
    StatusAmended: b"status.update",
    StatusGone: b"delete",
    NotificationShown: b"notification",
    NotificationsMerged: b"notifications_merged",
    ConversationShown: b"conversation",
    FiltersChanged: b"filters_changed",
    AnnouncementShown: b"announcement",
    AnnouncementGone: b"announcement.delete",
    ReactionCounted: b"announcement.reaction",
    StreamResumed: b"resumed",
    StreamGap: b"gap",
}
# Line ends of Unicode. Server-sent events have others, but libraries that split at all of them lose an event with one
# of these. They stand in texts of JSON alone, in which they may be escaped; orjson escapes those of ASCII.
LINE_ENDS = tuple((sign.encode(), b"\\u%04x" % ord(sign)) for sign in "\u0085\u2028\u2029")


class Frames(ABC):
    """Renders events for all streams of the server that are sent in one way."""

    def __init__(self, renderings: Renderings, base_url: str, counts: StreamCounts | None = None) -> None:
        self._renderings = renderings
        self._base_url = base_url
        self.counts = counts or StreamCounts()
        self._latest = b"", ""  # a frame and an id, and what was made of them
        self._latest_identified = b""

    @abstractmethod
    def frame(self, event: Event, label: bytes, viewer: ViewerPart = NO_VIEWER, id: str = "") -> bytes:
        """Return the frame of an event for a viewer. `label` is the stream's name as JSON.

        With the `id` clients can resume the stream. It depends on the feed, so it is not rendered with the event.
        """

    @abstractmethod
    def identified(self, frame: bytes, id: bytes) -> bytes:
        """Return a frame with an id in it."""

    def with_id(self, frame: bytes, id: str) -> bytes:
        """The same, if there is an id. Most streams that are sent a frame are sent it with the same id, in a row."""
        if not id:
            return frame
        if frame is not self._latest[0] or id != self._latest[1]:
            self._latest = frame, id
            self._latest_identified = self.identified(frame, id.encode())
        return self._latest_identified

    def is_matched(self, event: Event, viewer: ViewerPart) -> bool:
        """True if the viewer's filters match the status that an event shows, or the one that is quoted in it."""
        shown = status_in(event) if viewer.filters else None
        if shown is None:
            return False
        quoted = (shown.boosted or shown).quoted
        return any(matches_in(one, viewer.filters, self._renderings) for one in (shown, quoted) if one is not None)

    def variant(self, event: Event, viewer: ViewerPart) -> str:
        """Return a name of what the viewer sees: events are rendered once for each."""
        shown = status_in(event)
        return "" if shown is None else variant(shown, viewer.perspective)

    def is_hidden(self, event: Event, viewer: int | None, context: str, filters: Filters) -> bool:
        """True if the viewer's filters hide the status that an event shows in this context."""
        shown = status_in(event)
        return shown is not None and is_hidden(shown, viewer, context, filters, self._renderings)

    def payload(self, event: Event, viewer: ViewerPart) -> bytes | None:
        """Return the event's JSON. None for an event without a payload."""
        match event:
            case StatusAppeared(shown) | StatusAmended(shown):
                return status_json(shown, self._renderings, self._base_url, viewer)
            case StatusGone(id):
                return b"%d" % id
            case NotificationShown(shown):
                recipient = replace(viewer, account_id=shown.notification.account_id)
                return notification_json(shown, self._renderings, self._base_url, recipient)
            case NotificationsMerged():
                return b"1"
            case ConversationShown(shown):
                owner = replace(viewer, account_id=shown.conversation.account_id)
                return conversation_json(shown, self._renderings, self._base_url, owner)
            case AnnouncementShown(announcement):
                return orjson.dumps(announcement_fields(announcement, self._renderings.emojis, self._base_url))
            case AnnouncementGone(id):
                return b"%d" % id
            case ReactionCounted(announcement_id, name, count):
                reaction = reaction_fields(name, count, self._renderings.emojis, self._base_url)
                return orjson.dumps(reaction | {"announcement_id": str(announcement_id)})
            case StreamGap(since):
                return orjson.dumps({"since": None if since is None else instant(since)})
            case FiltersChanged() | StreamResumed():
                return None
            case _:
                raise TypeError(f"clients are not shown {type(event).__name__}")


class WebSocketFrames(Frames):
    """Events as the texts of frames."""

    def frame(self, event: Event, label: bytes, viewer: ViewerPart = NO_VIEWER, id: str = "") -> bytes:
        return self.with_id(self._frame(event, label, viewer), id)

    def identified(self, frame: bytes, id: bytes) -> bytes:
        return b'%b,"id":"%b"}' % (frame[:-1], id)

    def _frame(self, event: Event, label: bytes, viewer: ViewerPart) -> bytes:
        if self.is_matched(event, viewer):
            return _text(event, label, _quoted(self.payload(event, viewer) or b""))
        variant = self.variant(event, viewer)
        name = f"websocket {label.decode()} {variant}"
        frame = event.rendered.get(name)
        if frame is None:
            frame = event.rendered[name] = _text(event, label, self._shared(event, viewer, variant))
        return frame

    def _shared(self, event: Event, viewer: ViewerPart, variant: str) -> bytes:
        """The payload as a member of the frame, which is the same on all streams."""
        name = f"quoted {variant}"
        quoted = event.rendered.get(name)
        if quoted is None:
            payload = self.payload(event, _unfiltered(viewer))
            quoted = event.rendered[name] = b"" if payload is None else _quoted(payload)
        return quoted


class SseFrames(Frames):
    """Events as server-sent events, which do not say of which stream they are."""

    def frame(self, event: Event, label: bytes, viewer: ViewerPart = NO_VIEWER, id: str = "") -> bytes:
        if isinstance(event, StreamResumed):
            return b"id: %b\n\n" % id.encode()  # no event: it sets the id from which a browser resumes
        frame = self._frame(event, viewer)
        return self.with_id(frame, id)

    def identified(self, frame: bytes, id: bytes) -> bytes:
        return b"id: %b\n%b" % (id, frame)

    def _frame(self, event: Event, viewer: ViewerPart) -> bytes:
        if self.is_matched(event, viewer):
            return _sse(event, self.payload(event, viewer))
        name = f"sse {self.variant(event, viewer)}"
        frame = event.rendered.get(name)
        if frame is None:
            frame = event.rendered[name] = _sse(event, self.payload(event, _unfiltered(viewer)))
        return frame


def _unfiltered(viewer: ViewerPart) -> ViewerPart:
    """Return the viewer without filters, which match nothing: what is rendered is for other viewers too."""
    return replace(viewer, filters=NO_FILTERS)


def status_in(event: Event) -> ShownStatus | None:
    """Return the status that an event shows, be it in a notification or in a conversation."""
    match event:
        case StatusEvent(shown):
            return shown
        case NotificationShown(notification):
            return notification.status
        case ConversationShown(conversation):
            return conversation.last
        case _:
            return None


def _text(event: Event, label: bytes, payload: bytes) -> bytes:
    return b'{"stream":%b,"event":"%b"%b}' % (label, NAMES[type(event)], payload)


def _sse(event: Event, payload: bytes | None) -> bytes:
    data = b"undefined" if payload is None else payload
    for line_end, escaped in LINE_ENDS:
        data = data.replace(line_end, escaped)
    return b"event: %b\ndata: %b\n\n" % (NAMES[type(event)], data)


def _quoted(payload: bytes) -> bytes:
    """JSON inside of a JSON string."""
    return b',"payload":' + orjson.dumps(payload.decode())


def refusal(text: str, status: int | None = None) -> bytes:
    """A frame with the reason why a command of the client failed."""
    return orjson.dumps({"error": text} if status is None else {"error": text, "status": status})
