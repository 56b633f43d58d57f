"""Events in the formats of clients. An event is rendered once for all viewers with equal permissions.

Permissions differ in who may quote a status, and who sees the status that it quotes; `variant` names the groups of
viewers. If a viewer's filters match, the event is rendered for this viewer, with the matches.
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

# The viewer of shared renderings: every flag is false. Streams set the filters and the perspective of their account.
NO_VIEWER = ViewerPart(0, {})


@dataclass(frozen=True, slots=True)
class StreamResumed(Event):
    """All missed events were sent. A client can resume from the id of this event."""


@dataclass(frozen=True, slots=True)
class StreamGap(Event):
    """Events since this time are missing, because they are too many or too old. None if the time is unknown.

    The client reloads its timelines.
    """

    since: datetime | None


# Events about a stream itself, which all kinds of streams show.
ABOUT_STREAM: frozenset[type[Event]] = frozenset({StreamResumed, StreamGap})

# The names of the events in the API.
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
    """Renders events, for all WebSockets or for all streams of server-sent events."""

    def __init__(self, renderings: Renderings, base_url: str, counts: StreamCounts | None = None) -> None:
        self._renderings = renderings
        self._base_url = base_url
        self.counts = counts or StreamCounts()
        self._latest = b"", ""  # the frame and the id of `_latest_identified`
        self._latest_identified = b""

    @abstractmethod
    def frame(self, event: Event, label: bytes, viewer: ViewerPart = NO_VIEWER, id: str = "") -> bytes:
        """Return the frame of an event for a viewer. `label` is the stream's name as JSON.

        With the `id` clients can resume the stream. The id depends on the feed, so the shared rendering is without it.
        """

    @abstractmethod
    def identified(self, frame: bytes, id: bytes) -> bytes:
        """Return a frame with an id in it."""

    def with_id(self, frame: bytes, id: str) -> bytes:
        """Return the frame with the id, if any. Caches the last result: most streams send a frame with equal ids."""
        if not id:
            return frame
        if frame is not self._latest[0] or id != self._latest[1]:
            self._latest = frame, id
            self._latest_identified = self.identified(frame, id.encode())
        return self._latest_identified

    def is_matched(self, event: Event, viewer: ViewerPart) -> bool:
        """True if the viewer's filters match the status in an event, or the status that it quotes."""
        shown = status_in(event) if viewer.filters else None
        if shown is None:
            return False
        quoted = (shown.boosted or shown).quoted
        statuses = [status for status in (shown, quoted) if status is not None]
        return any(matches_in(status, viewer.filters, self._renderings) for status in statuses)

    def variant(self, event: Event, viewer: ViewerPart) -> str:
        """Return the name of the viewer's group. An event is rendered once for each group."""
        shown = status_in(event)
        return "" if shown is None else variant(shown, viewer.perspective)

    def is_hidden(self, event: Event, viewer: int | None, context: str, filters: Filters) -> bool:
        """True if the viewer's filters hide the status in an event in this context."""
        shown = status_in(event)
        return shown is not None and is_hidden(shown, viewer, context, filters, self._renderings)

    def payload(self, event: Event, viewer: ViewerPart) -> bytes | None:
        """Return the payload as JSON; None for an event without a payload."""
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
        """Return the payload as a member of the frame. It is cached, because all streams share it."""
        name = f"quoted {variant}"
        quoted = event.rendered.get(name)
        if quoted is None:
            payload = self.payload(event, _unfiltered(viewer))
            quoted = event.rendered[name] = b"" if payload is None else _quoted(payload)
        return quoted


class SseFrames(Frames):
    """Events as server-sent events, which do not name their stream."""

    def frame(self, event: Event, label: bytes, viewer: ViewerPart = NO_VIEWER, id: str = "") -> bytes:
        if isinstance(event, StreamResumed):
            return b"id: %b\n\n" % id.encode()  # not an event: it only sets the id from which a browser resumes
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
    """Return the viewer without filters. They match nothing here, and the rendering is shared with other viewers."""
    return replace(viewer, filters=NO_FILTERS)


def status_in(event: Event) -> ShownStatus | None:
    """Return the status in an event, also in a notification or in a conversation."""
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
    """Return the member `payload`, whose value is JSON in a JSON string."""
    return b',"payload":' + orjson.dumps(payload.decode())


def refusal(text: str, status: int | None = None) -> bytes:
    """Return a frame with the error of a client's command."""
    return orjson.dumps({"error": text} if status is None else {"error": text, "status": status})
