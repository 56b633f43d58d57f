"""NotificationRequest."""

from __future__ import annotations

import orjson

from ...storage.notification_requests import NotificationRequest
from .times import instant


def request_json(request: NotificationRequest, account: bytes, last_status: bytes | None) -> bytes:
    """Return a request with the JSON of its sender, and of its last status if the recipient may see it."""
    head = orjson.dumps(
        {
            "id": str(request.id),
            "created_at": instant(request.created_at),
            "updated_at": instant(request.updated_at),
            "notifications_count": str(request.count),
        }
    )[:-1]
    return b'%b,"account":%b,"last_status":%b}' % (head, account, last_status or b"null")
