"""Notification and NotificationGroup; NotificationRequest and NotificationPolicy."""

from __future__ import annotations

from dataclasses import asdict

import orjson

from ...actors.account import ViewerPart
from ...actors.activitypub.uris import web_address
from ...actors.shown.notifications import ShownNotification
from ...storage.accounts import Account
from ...storage.notification_groups import Group
from ...storage.notification_policy import NotificationPolicy
from ...storage.notification_requests import NotificationRequest, Pending
from .account import account_json, avatar_url
from .rendered import Renderings
from .report import report_fields, warning_json
from .status import status_json
from .times import instant


def notification_json(shown: ShownNotification, renderings: Renderings, base_url: str, viewer: ViewerPart) -> bytes:
    """Return a notification for its recipient, with its status, if any."""
    kept, records = renderings.notifications, (shown.notification, shown.account)
    front = None if shown.report is not None else kept.find(shown.id, records)
    if front is None:
        front = _front(shown, renderings, base_url)
        if shown.report is None:  # a report changes without its notification
            kept.keep(front, shown.id, records)
    if shown.strike is not None:
        return b'%b,"moderation_warning":%b}' % (front, warning_json(shown.strike, shown.account, renderings, base_url))
    if shown.status is None:
        return front + b"}"
    return b'%b,"status":%b}' % (front, status_json(shown.status, renderings, base_url, viewer))


def _front(shown: ShownNotification, renderings: Renderings, base_url: str) -> bytes:
    """Return the fields that depend only on the notification, its account and report, without the closing brace."""
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


def group_fields(group: Group) -> dict[str, object]:
    fields: dict[str, object] = {
        "group_key": group.key,
        "notifications_count": group.count,
        "type": group.type,
        "most_recent_notification_id": str(group.most_recent_id),
        "sample_account_ids": [str(id) for id in group.account_ids],
    }
    if group.latest_at is not None:
        fields["page_min_id"] = str(group.page_min_id)
        fields["page_max_id"] = str(group.page_max_id)
        fields["latest_page_notification_at"] = instant(group.latest_at)
    if group.status_id is not None:
        fields["status_id"] = str(group.status_id)
    return fields


def partial_account_fields(account: Account, base_url: str) -> dict[str, object]:
    """Return a PartialAccountWithAvatar, from which clients draw a small picture."""
    avatar = avatar_url(account, base_url)
    return {
        "id": str(account.id),
        "acct": account.acct,
        "url": web_address(account.url or account.uri),
        "avatar": avatar,
        "avatar_static": avatar,
        "avatar_description": account.avatar_description,
        "locked": account.locked,
        "bot": account.bot,
    }


def notification_request_json(request: NotificationRequest, account: bytes, last_status: bytes | None) -> bytes:
    """Return a request with the JSON of its sender, and of its last status if the recipient may see it."""
    return orjson.dumps(
        {
            "id": str(request.id),
            "created_at": instant(request.created_at),
            "updated_at": instant(request.updated_at),
            "notifications_count": str(request.count),
            "account": orjson.Fragment(account),
            "last_status": None if last_status is None else orjson.Fragment(last_status),
        }
    )


def notification_policy_fields(policy: NotificationPolicy, pending: Pending) -> dict[str, object]:
    return {**{f"for_{cause}": action for cause, action in asdict(policy).items()}, "summary": _summary(pending)}


def v1_notification_policy_fields(policy: NotificationPolicy, pending: Pending) -> dict[str, object]:
    """Return a V1::NotificationPolicy, which does not distinguish filtered and dropped."""
    filters = {f"filter_{cause}": action != "accept" for cause, action in asdict(policy).items()}
    del filters["filter_limited_accounts"]
    return {**filters, "summary": _summary(pending)}


def _summary(pending: Pending) -> dict[str, int]:
    return {
        "pending_requests_count": pending.requests,
        "pending_notifications_count": pending.notifications,
    }
