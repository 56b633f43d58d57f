"""Delivering activities to other servers: a queue of their own, with a group for each server that may be slow or away.

An activity is stored once, as it will be signed, with a row of the outbox for each inbox (the shared inbox where there
is one). The transaction of the change that it describes stores both; the last delivery deletes the activity. Profiles
and tallies of polls change often: an effect renders them when it is due (`effects/sending.py`).

The deliveries of one sender to one inbox share a partition, so that they keep their order. Each host has two groups of
two workers: for activities that users wait for (answers, mentions, follows, deletions), and for posts to followers. A
delivery that waits behind an earlier delivery waits in its group. So a host that hangs takes four of 128 workers until
its breaker stops the deliveries to it. The breaker is a row in `hosts`, so that it survives a restart. Its pauses
double, up to an hour. A successful delivery, or a signed request from the host, ends them and makes all waiting
deliveries due.

2xx is success. 4xx is final, except for 401, 408, 425 and 429. All other results are retried for two days, each time
after three times as long, up to six hours. After 400 or 401 the other kind of signature is tried, and remembered if it
was accepted. Redirects are not followed. After a permanent redirect, or 410, the account is fetched again: it may have
another inbox, or be gone. Domains that are suspended or not allowed get nothing, even if they were blocked after the
promise.

All servers are notified of a deleted account, 200 inboxes in a transaction: the promise of the next step replaces the
promise that is executed. The transaction that deletes a post withdraws its Create from inboxes that no relay has tried
yet (`tried` in the outbox), and sends these no Delete. All other inboxes get the Delete.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from ...storage.federation import activities
from ..deliveries.hosts import QUEUE
from ..deliveries.sender import DeliveryPutOff, DeliveryRefused, DeliverySender
from ..promises import Effect
from .registry import Attempt, EffectQueue, GivenUp, Later, NotTried, executes

# A host has two groups of two workers each: a slow host can take no more workers from the others.
DELIVERIES: EffectQueue[DeliverySender] = EffectQueue(
    QUEUE, workers=128, workers_per_group=2, claimed_at_once=4,
    retry_after=(1, 5, 30, 120, 600), give_up_after=timedelta(hours=48),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DeliverActivity(Effect):
    """Send an activity to an inbox of accounts of a domain."""

    activity_id: int
    inbox: str
    domain: str


@executes("delivery", DeliverActivity, DELIVERIES, delete=activities.delete_deliveries)
async def deliver_activity(sender: DeliverySender, effect: DeliverActivity, attempt: Attempt) -> None:
    try:
        await sender.send(effect.activity_id, effect.inbox, effect.domain, attempt.number)
    except DeliveryPutOff as put_off:
        raise (Later if put_off.tried else NotTried)(put_off.at, str(put_off)) from put_off
    except DeliveryRefused as refused:
        raise GivenUp(str(refused)) from refused
