"""Events as clients read them. Each is rendered once, and the same bytes go to all its viewers.

Only a viewer whose filters match gets other bytes: the same with the matches in them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import orjson

from ...actors.account import ViewerPart
from ...actors.events import (
    ConversationShown,
    FiltersChanged,
    NotificationShown,
    NotificationsMerged,
    StatusAmended,
    StatusAppeared,
    StatusEvent,
    StatusGone,
)
from ...actors.kernel import Event
from ...actors.rules.filters import Filters
from ...actors.statuses import ShownStatus
from ..entities.conversation import conversation_json
from ..entities.filter import Matches, is_hidden, matches_in, with_matches
from ..entities.notification import notification_json
from ..entities.rendered import Renderings
from ..entities.status import status_json

# For no account: a status for all viewers, with the viewer's part in it and every flag false.
NO_VIEWER = ViewerPart(0, {})

# What clients call the events.
NAMES: dict[type[Event], bytes] = {
    StatusAppeared: b"update",
    StatusAmended: b"status.update",
    StatusGone: b"delete",
    NotificationShown: b"notification",
    NotificationsMerged: b"notifications_merged",
    ConversationShown: b"conversation",
    FiltersChanged: b"filters_changed",
}


class Frames(ABC):
    """Renders events for all streams of the server that are sent in one way."""

    def __init__(self, renderings: Renderings, base_url: str) -> None:
        self._renderings = renderings
        self._base_url = base_url

    @abstractmethod
    def frame(self, event: Event, label: bytes, matches: Matches = ()) -> bytes:
        """Return the frame of an event.

        `label` is the stream's name as JSON. `matches` are those of the viewer's filters in the status of the event.
        """

    def matches(self, event: Event, filters: Filters) -> Matches:
        """Return the matches of a viewer's filters in the status that an event shows."""
        shown = status_in(event)
        return () if shown is None else matches_in(shown, filters, self._renderings)

    def is_hidden(self, event: Event, viewer: int | None, context: str, filters: Filters) -> bool:
        """True if the viewer's filters hide the status that an event shows in this context."""
        shown = status_in(event)
        return shown is not None and is_hidden(shown, viewer, context, filters, self._renderings)

    def payload(self, event: Event) -> bytes | None:
        """Return the event's JSON. None for an event without a payload."""
        match event:
            case StatusAppeared(shown) | StatusAmended(shown):
                return status_json(shown, self._renderings, self._base_url, NO_VIEWER)
            case StatusGone(id):
                return b"%d" % id
            case NotificationShown(shown):
                viewer = ViewerPart(shown.notification.account_id, {})
                return notification_json(shown, self._renderings, self._base_url, viewer)
            case NotificationsMerged():
                return b"1"
            case ConversationShown(shown):
                viewer = ViewerPart(shown.conversation.account_id, {})
                return conversation_json(shown, self._renderings, self._base_url, viewer)
            case FiltersChanged():
                return None
            case _:
                raise TypeError(f"clients are not shown {type(event).__name__}")


class WebSocketFrames(Frames):
    """Events as the texts of frames."""

    def frame(self, event: Event, label: bytes, matches: Matches = ()) -> bytes:
        if matches:
            return _text(event, label, _quoted(with_matches(self.payload(event) or b"", matches)))
        name = "websocket " + label.decode()
        frame = event.rendered.get(name)
        if frame is None:
            frame = event.rendered[name] = _text(event, label, self._shared(event))
        return frame

    def _shared(self, event: Event) -> bytes:
        """The payload as a member of the frame, which is the same on all streams."""
        quoted = event.rendered.get("quoted")
        if quoted is None:
            payload = self.payload(event)
            quoted = event.rendered["quoted"] = b"" if payload is None else _quoted(payload)
        return quoted


class SseFrames(Frames):
    """Events as server-sent events, which do not say of which stream they are."""

    def frame(self, event: Event, label: bytes, matches: Matches = ()) -> bytes:
        if matches:
            return _sse(event, with_matches(self.payload(event) or b"", matches))
        frame = event.rendered.get("sse")
        if frame is None:
            frame = event.rendered["sse"] = _sse(event, self.payload(event))
        return frame


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
    return b"event: %b\ndata: %b\n\n" % (NAMES[type(event)], b"undefined" if payload is None else payload)


def _quoted(payload: bytes) -> bytes:
    """JSON inside of a JSON string."""
    return b',"payload":' + orjson.dumps(payload.decode())


def refusal(text: str, status: int | None = None) -> bytes:
    """A frame with the reason why a command of the client failed."""
    return orjson.dumps({"error": text} if status is None else {"error": text, "status": status})
