"""Applying what other servers have sent: a queue of its own, because it may need documents of servers that are slow.

The activities of one actor are applied in the order of their arrival. One that fails for the moment is put aside, into
another partition, so that those after it go on. What most activities do is the same in any order. Those for which the
order matters have a subject: the later ones of the same actor about the same subject go into the same partition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Protocol

from ..promises import Effect, Promise
from .registry import Attempt, EffectQueue, Finish, carries_out

LONGEST_KEY = 200  # characters of a partition's or group's name that are kept; columns take 255


@dataclass(frozen=True, slots=True)
class ReceivedActivity(Effect):
    """Apply an activity that `signer` has signed.

    `recipient` is the user whose own inbox it came to, if it did. One that was `tried` was put aside. `followers` is
    what its server said of the signer's followers here, the header `Collection-Synchronization`.
    """

    signer: str
    body: str
    recipient: str | None = None
    tried: bool = False
    followers: str | None = None


@dataclass(frozen=True, slots=True)
class UnverifiedActivity(Effect):
    """Verify a request whose key could not be had when it came; only then is its activity applied.

    `received_at` is when it came: its signature was in time then.
    """

    path: str
    body: str
    key_id: str
    received_at: datetime
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    recipient: str | None = None


class ActivityReceiver(Protocol):
    """The object that applies activities (`federation/inbox.py`)."""

    async def apply(self, received: ReceivedActivity, attempt: Attempt) -> Finish | None: ...

    async def verify(self, unverified: UnverifiedActivity, attempt: Attempt) -> Finish | None: ...


UNVERIFIED = "unverified "  # begins the names of groups of requests that are not verified yet

# A group is the sending server, and for requests that are not verified yet the registered domain of their key.
INBOX: EffectQueue[ActivityReceiver] = EffectQueue(
    "inbox", lanes=32, lanes_of_a_group=4, claimed_at_once=8, retry_after=(10, 60, 300, 1800, 7200),
    give_up_after=timedelta(days=1),
)  # fmt: skip


def received(activity: ReceivedActivity, host: str) -> Promise:
    """Promise to apply an activity of a server, after those of the same actor that came before."""
    return Promise(activity, f"inbox/{_short(activity.signer)}", group=_short(host))


def put_aside(activity: ReceivedActivity, host: str, partition: str, due_at: datetime) -> Promise:
    """Promise to apply an activity of a server later that could not be applied in its turn."""
    return Promise(activity, partition, due_at, group=f"aside {_short(host)}")


def aside(signer: str, subject: str) -> str:
    """Return the partition of the activities of an actor about a subject that are put aside."""
    return f"aside/{sha256(f'{signer} {subject}'.encode()).hexdigest()}"


def unverified(activity: UnverifiedActivity, domain: str) -> Promise:
    """Promise to verify a request whose key is of a registered domain."""
    return Promise(activity, unverified_by(activity.key_id), group=unverified_group(domain))


def unverified_by(key_id: str) -> str:
    """Return the partition of the requests that wait for a key."""
    return f"unverified/{_short(key_id)}"


def unverified_group(domain: str) -> str:
    """Return the group of the requests that wait for keys of a registered domain."""
    return f"{UNVERIFIED}{_short(domain)}"


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_KEY else sha256(name.encode()).hexdigest()


@carries_out("activity", ReceivedActivity, INBOX)
async def apply_activity(receiver: ActivityReceiver, effect: ReceivedActivity, attempt: Attempt) -> Finish | None:
    return await receiver.apply(effect, attempt)


@carries_out("unverified", UnverifiedActivity, INBOX)
async def verify_activity(receiver: ActivityReceiver, effect: UnverifiedActivity, attempt: Attempt) -> Finish | None:
    return await receiver.verify(effect, attempt)
