"""Applying activities of other servers: a queue of its own, because it may need documents of servers that are slow.

The activities of one actor are applied in the order of their arrival. An activity that fails for the moment is put
aside, into another partition, so that later activities go on. Most activities have the same result in any order.
Activities whose order matters have a subject: later activities of the actor about this subject are put into the same
partition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Protocol

from ..promises import Effect, Promise
from .registry import Attempt, EffectQueue, Finish, executes

LONGEST_KEY = 200  # characters of the name of a partition or group; longer names are hashed. Columns take 255


@dataclass(frozen=True, slots=True)
class ReceivedActivity(Effect):
    """Apply an activity that `signer` has signed.

    `recipient` is the user whose own inbox received it; None for the shared inbox. A `tried` activity was put aside.
    `followers` is the header `Collection-Synchronization`, about the signer's followers here.
    """

    signer: str
    body: str
    recipient: str | None = None
    tried: bool = False
    followers: str | None = None


@dataclass(frozen=True, slots=True)
class UnverifiedActivity(Effect):
    """Verify a request whose key could not be fetched when it arrived. Then apply its activity.

    `received_at` is the time of arrival, at which the signature was not expired.
    """

    path: str
    body: str
    key_id: str
    received_at: datetime
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    recipient: str | None = None


class ActivityReceiver(Protocol):
    """Applies activities (`federation/inbox.py`)."""

    async def apply(self, received: ReceivedActivity, attempt: Attempt) -> Finish | None: ...

    async def verify(self, unverified: UnverifiedActivity, attempt: Attempt) -> Finish | None: ...


UNVERIFIED = "unverified "  # prefix of the groups of requests that are not verified yet

# A group is the sending server, and for requests that are not verified yet the registered domain of their key.
INBOX: EffectQueue[ActivityReceiver] = EffectQueue(
    "inbox", workers=32, workers_per_group=4, claimed_at_once=8, retry_after=(10, 60, 300, 1800, 7200),
    give_up_after=timedelta(days=1),
)  # fmt: skip


def received(activity: ReceivedActivity, host: str) -> Promise:
    """Return the promise to apply an activity of a server, after the earlier activities of its actor."""
    return Promise(activity, f"inbox/{_short(activity.signer)}", group=_short(host))


def put_aside(activity: ReceivedActivity, host: str, partition: str, due_at: datetime) -> Promise:
    """Return the promise to apply an activity later that could not be applied in its turn."""
    return Promise(activity, partition, due_at, group=f"aside {_short(host)}")


def aside(signer: str, subject: str) -> str:
    """Return the partition of activities that were put aside: of an actor about a subject."""
    return f"aside/{sha256(f'{signer} {subject}'.encode()).hexdigest()}"


def unverified(activity: UnverifiedActivity, domain: str) -> Promise:
    """Return the promise to verify a request whose key is of a registered domain."""
    return Promise(activity, unverified_by(activity.key_id), group=unverified_group(domain))


def unverified_by(key_id: str) -> str:
    """Return the partition of the requests that wait for a key."""
    return f"unverified/{_short(key_id)}"


def unverified_group(domain: str) -> str:
    """Return the group of the requests that wait for keys of a registered domain."""
    return f"{UNVERIFIED}{_short(domain)}"


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_KEY else sha256(name.encode()).hexdigest()


@executes("activity", ReceivedActivity, INBOX)
async def apply_activity(receiver: ActivityReceiver, effect: ReceivedActivity, attempt: Attempt) -> Finish | None:
    return await receiver.apply(effect, attempt)


@executes("unverified", UnverifiedActivity, INBOX)
async def verify_activity(receiver: ActivityReceiver, effect: UnverifiedActivity, attempt: Attempt) -> Finish | None:
    return await receiver.verify(effect, attempt)
