"""Notification."""

from __future__ import annotations

import orjson

from ...actors.account import ViewerPart
from ...actors.notifications import ShownNotification
from .account import account_json
from .rendered import Renderings
from .report import report_fields
from .status import status_json
from .strike import warning_json
from .times import instant


def notification_json(shown: ShownNotification, renderings: Renderings, base_url: str, viewer: ViewerPart) -> bytes:
    """Return a notification for its recipient, with its status if it has one."""
    kept, records = renderings.notifications, (shown.notification, shown.account)
    front = None if shown.report is not None else kept.find(shown.id, records)
    if front is None:
        front = _front(shown, renderings, base_url)
        if shown.report is None:  # which changes on its own
            kept.keep(front, shown.id, records)
    if shown.strike is not None:
        return b'%b,"moderation_warning":%b}' % (front, warning_json(shown.strike, shown.account, renderings, base_url))
    if shown.status is None:
        return front + b"}"
    return b'%b,"status":%b}' % (front, status_json(shown.status, renderings, base_url, viewer))


def _front(shown: ShownNotification, renderings: Renderings, base_url: str) -> bytes:
    """Return what depends on no other record than the notification and its account, without an end."""
    notification = shown.notification
    fields: dict[str, object] = {
        "id": str(notification.id),
        "type": notification.type,
        "created_at": instant(notification.created_at),
        "group_key": notification.group_key,
    }
    if notification.filtered:
        fields["filtered"] = True
    if shown.report is not None:
        fields["report"] = report_fields(shown.report, renderings, base_url)
    head = orjson.dumps(fields)[:-1]
    return b'%b,"account":%b' % (head, account_json(shown.account, renderings, base_url))
