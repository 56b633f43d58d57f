"""Events as clients read them. Each is rendered once, and the same bytes go to all its viewers."""

from __future__ import annotations

import orjson

from ...actors.events import (
    ConversationShown,
    FiltersChanged,
    NotificationShown,
    StatusAmended,
    StatusAppeared,
    StatusGone,
)
from ...actors.kernel import Event
from ..entities.conversation import conversation_json
from ..entities.notification import notification_json
from ..entities.rendered import Renderings
from ..entities.status import status_json

# The id of no account: a status for all viewers, with the viewer's part in it and every flag false.
NO_ACCOUNT = 0

# What clients call the events.
NAMES: dict[type[Event], bytes] = {
    StatusAppeared: b"update",
    StatusAmended: b"status.update",
    StatusGone: b"delete",
    NotificationShown: b"notification",
    ConversationShown: b"conversation",
    FiltersChanged: b"filters_changed",
}


class Frames:
    """Renders events for all streams of the server."""

    def __init__(self, renderings: Renderings, base_url: str) -> None:
        self._renderings = renderings
        self._base_url = base_url

    def for_websocket(self, event: Event, label: bytes) -> bytes:
        """A frame's text; `label` is the stream's name as JSON."""
        name = "websocket " + label.decode()
        frame = event.rendered.get(name)
        if frame is None:
            frame = event.rendered[name] = b'{"stream":%b,"event":"%b"%b}' % (
                label, NAMES[type(event)], self._quoted(event)
            )  # fmt: skip
        return frame

    def for_sse(self, event: Event, label: bytes) -> bytes:
        """A server-sent event, which does not say of which stream it is."""
        frame = event.rendered.get("sse")
        if frame is None:
            payload = self._payload(event)
            frame = event.rendered["sse"] = b"event: %b\ndata: %b\n\n" % (
                NAMES[type(event)], b"undefined" if payload is None else payload
            )  # fmt: skip
        return frame

    def _quoted(self, event: Event) -> bytes:
        """The payload as a member of the frame: JSON inside of a JSON string."""
        quoted = event.rendered.get("quoted")
        if quoted is None:
            payload = self._payload(event)
            quoted = b"" if payload is None else b',"payload":' + orjson.dumps(payload.decode())
            event.rendered["quoted"] = quoted
        return quoted

    def _payload(self, event: Event) -> bytes | None:
        """Return the event's JSON. None for an event without a payload."""
        match event:
            case StatusAppeared(shown) | StatusAmended(shown):
                return status_json(shown, self._renderings, self._base_url, NO_ACCOUNT)
            case StatusGone(id):
                return b"%d" % id
            case NotificationShown(shown):
                return notification_json(shown, self._renderings, self._base_url)
            case ConversationShown(shown):
                return conversation_json(shown, self._renderings, self._base_url)
            case FiltersChanged():
                return None
            case _:
                raise TypeError(f"clients are not shown {type(event).__name__}")


def refusal(text: str, status: int | None = None) -> bytes:
    """A frame with the reason why a command of the client failed."""
    return orjson.dumps({"error": text} if status is None else {"error": text, "status": status})
