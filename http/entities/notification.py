"""Notification."""

from __future__ import annotations

import orjson

from ...actors.broadcast import ShownNotification
from .account import account_json
from .rendered import Renderings
from .status import FlagsById, status_json
from .times import instant


def notification_json(
    told: ShownNotification, renderings: Renderings, base_url: str, flags: FlagsById | None = None
) -> bytes:
    """What its recipient is told, with the status if there is one."""
    notification = told.notification
    head = orjson.dumps(
        {
            "id": str(notification.id),
            "type": notification.type,
            "created_at": instant(notification.created_at),
            "group_key": notification.group_key,
        }
    )[:-1]
    account = account_json(told.account, renderings, base_url)
    if told.shown is None:
        return b'%b,"account":%b}' % (head, account)
    status = status_json(told.shown, renderings, base_url, notification.account_id, flags)
    return b'%b,"account":%b,"status":%b}' % (head, account, status)
