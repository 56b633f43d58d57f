"""Events as clients read them. Each is rendered once, and the same bytes go to everyone who sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from ...actors.kernel import Event
from ..entities.conversation import conversation_json
from ..entities.notification import notification_json
from ..entities.rendered import Renderings
from ..entities.status import status_json

# Nobody's id: a status for everybody, with the viewer's part in it and every flag false.
NOBODY = 0


class Frames:
    """Renders events for all streams of the server."""

    def __init__(self, renderings: Renderings, base_url: str) -> None:
        self._renderings = renderings
        self._base_url = base_url
        self._payloads: dict[str, Callable[[Any], bytes | None]] = {
            "update": self._status,
            "status.update": self._status,
            "delete": lambda id: b"%d" % id,
            "notification": lambda told: notification_json(told, renderings, base_url),
            "conversation": lambda told: conversation_json(told, renderings, base_url),
            "filters_changed": lambda _: None,
        }

    def for_websocket(self, event: Event, label: bytes) -> bytes:
        """A frame's text; `label` is the stream's name as JSON."""
        name = "websocket " + label.decode()
        frame = event.rendered.get(name)
        if frame is None:
            frame = event.rendered[name] = b'{"stream":%b,"event":"%b"%b}' % (
                label, event.kind.encode(), self._quoted(event)
            )  # fmt: skip
        return frame

    def for_sse(self, event: Event, label: bytes) -> bytes:
        """A server-sent event, which does not say of which stream it is."""
        frame = event.rendered.get("sse")
        if frame is None:
            payload = self._payload(event)
            frame = event.rendered["sse"] = b"event: %b\ndata: %b\n\n" % (
                event.kind.encode(), b"undefined" if payload is None else payload
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
        return self._payloads[event.kind](event.subject)

    def _status(self, shown: Any) -> bytes:
        return status_json(shown, self._renderings, self._base_url, NOBODY)


def refusal(text: str, status: int | None = None) -> bytes:
    """A frame that says why something asked for over a socket is not done."""
    return orjson.dumps({"error": text} if status is None else {"error": text, "status": status})
