"""WebPushSubscription."""

from __future__ import annotations

from ...actors.rules.alerts import ALERTS
from ...storage.push_subscriptions import PushSubscription


def push_subscription_fields(
    subscription: PushSubscription, server_key: str, *, id_as_number: bool
) -> dict[str, object]:
    """Return a subscription without its keys and its token. Some apps can read the id only as a number."""
    return {
        "id": subscription.id if id_as_number else str(subscription.id),
        "endpoint": subscription.endpoint,
        "standard": subscription.standard,
        "server_key": server_key,
        "alerts": {alert: alert in subscription.alerts for alert in ALERTS},
        "policy": subscription.policy,
    }
