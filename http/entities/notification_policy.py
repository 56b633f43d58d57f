"""NotificationPolicy, and its older form with booleans."""

from __future__ import annotations

from dataclasses import asdict

from ...storage.notification_policy import NotificationPolicy
from ...storage.notification_requests import Pending


def policy_fields(policy: NotificationPolicy, pending: Pending) -> dict[str, object]:
    return {**{f"for_{cause}": action for cause, action in asdict(policy).items()}, "summary": _summary(pending)}


def v1_policy_fields(policy: NotificationPolicy, pending: Pending) -> dict[str, object]:
    """V1::NotificationPolicy, which knows no difference between filtered and dropped."""
    filters = {f"filter_{cause}": action != "accept" for cause, action in asdict(policy).items()}
    del filters["filter_limited_accounts"]
    return {**filters, "summary": _summary(pending)}


def _summary(pending: Pending) -> dict[str, int]:
    return {
        "pending_requests_count": pending.requests,
        "pending_notifications_count": pending.notifications,
    }
