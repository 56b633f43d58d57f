"""Sending notifications to devices: a queue of their own, because push services may be slow or away.

The transaction that makes a notification promises its pushes. The statement that inserts the notification also finds
the devices that want it, so this costs no further query. A push is written from the rows as they are when it is sent.
It is not sent if its reader may not see the notification any more.

A push service has at most 8 workers. After five failures in a row it gets no requests, for 30 s at first
(`outgoing/breaker.py`). Each message is tried for two days. A message that was sent twice has the same `Topic`, so a
device that was off shows it once. 404, 410, and every other permanent refusal delete the subscription.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from ...storage import push_subscriptions
from ..push.promises import SendPush
from ..push.sender import PushPutOff, PushSender
from .registry import Attempt, EffectQueue, Finish, Later, NotTried, executes

# A group is a push service. Three services serve most devices, and take many messages at the same time.
PUSH: EffectQueue[PushSender] = EffectQueue(
    "push", workers=64, workers_per_group=8, claimed_at_once=8, retry_after=(5, 30, 120, 600, 3600, 6 * 3600),
    give_up_after=timedelta(hours=48),
)  # fmt: skip


@executes("push", SendPush, PUSH)
async def send_push(sender: PushSender, effect: SendPush, attempt: Attempt) -> Finish | None:
    try:
        known = await sender.send(effect.notification_id, effect.subscription_id, attempt.origin)
    except PushPutOff as put_off:
        raise (Later if put_off.tried else NotTried)(put_off.at, str(put_off)) from put_off
    return None if known else partial(push_subscriptions.end, id=effect.subscription_id)
