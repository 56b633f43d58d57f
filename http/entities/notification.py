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
    account = account_json(shown.account, renderings, base_url)
    if shown.strike is not None:
        warning = warning_json(shown.strike, shown.account, renderings, base_url)
        return b'%b,"account":%b,"moderation_warning":%b}' % (head, account, warning)
    if shown.status is None:
        return b'%b,"account":%b}' % (head, account)
    status = status_json(shown.status, renderings, base_url, viewer)
    return b'%b,"account":%b,"status":%b}' % (head, account, status)
