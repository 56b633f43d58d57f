"""Delivering activities to other servers: a queue of their own, with a group for each server that may be slow or away.

An activity is stored once, with a row of the outbox for each inbox, in the transaction of the change that it tells of.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from ...storage.federation import activities
from ..deliveries.hosts import QUEUE
from ..deliveries.sender import DeliveryPutOff, DeliveryRefused, DeliverySender
from ..promises import Effect
from .registry import Attempt, EffectQueue, GivenUp, Later, NotTried, carries_out

# Two groups of a host have two lanes each: all that a server can take from the others by being slow.
DELIVERIES: EffectQueue[DeliverySender] = EffectQueue(
    QUEUE, lanes=128, lanes_of_a_group=2, claimed_at_once=4,
    retry_after=(1, 5, 30, 120, 600), give_up_after=timedelta(hours=48),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DeliverActivity(Effect):
    """Send an activity to an inbox of accounts of a domain."""

    activity_id: int
    inbox: str
    domain: str


@carries_out("delivery", DeliverActivity, DELIVERIES, delete=activities.delete_deliveries)
async def deliver_activity(sender: DeliverySender, effect: DeliverActivity, attempt: Attempt) -> None:
    try:
        await sender.send(effect.activity_id, effect.inbox, effect.domain, attempt.number)
    except DeliveryPutOff as put_off:
        raise (Later if put_off.tried else NotTried)(put_off.at, str(put_off)) from put_off
    except DeliveryRefused as refused:
        raise GivenUp(str(refused)) from refused
