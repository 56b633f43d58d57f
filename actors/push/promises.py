"""The promises to send notifications to devices. `effects/push.py` executes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...storage.notifications import Notification
from ..promises import Effect, Promise


@dataclass(frozen=True, slots=True)
class SendPush(Effect):
    """Send a notification to the device of a subscription, from the rows at the time of sending."""

    notification_id: int
    subscription_id: int


def pushes_of(notification: Notification) -> Iterator[Promise]:
    """Yield the promises to send a notification to the devices that want it. A device gets its messages in order.

    The statement that inserted the notification has found these devices, by the alerts and the policy of their
    subscriptions (`wanting` in `storage/push_subscriptions.py`).
    """
    for to in notification.push_to:
        effect, partition = SendPush(notification.id, to.subscription_id), f"push/{to.subscription_id}"
        yield Promise(effect, partition, account=notification.account_id, group=to.service)
