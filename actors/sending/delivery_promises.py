"""Stores an outgoing activity with a promise of its delivery for each inbox, and withdraws deliveries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson

from ...storage.engine.database import Connection
from ...storage.engine.json_values import JsonObject
from ...storage.federation import activities
from ...storage.federation.activities import FoundInbox, NewActivity
from ..activitypub.vocabulary import LARGEST_DOCUMENT, host_of
from ..context import ActorContext
from ..deliveries.hosts import LONGEST_HOST, groups_of
from ..deliveries.sender import is_barred
from ..effects.deliveries import DELIVERIES, DeliverActivity
from ..promises import Promise


@dataclass(frozen=True, slots=True)
class Recipients:
    """The recipients of an activity on other servers.

    `followers` are the followers of the sending account. `mentioned_in` is a status that mentions recipients,
    `interested_in` a status that recipients have answered, boosted or favourited.
    """

    followers: bool = False
    account_ids: Sequence[int] = ()
    mentioned_in: int | None = None
    interested_in: int | None = None


@dataclass(frozen=True, slots=True)
class PreparedActivity:
    """An activity to store, and the promises to deliver it."""

    activity: NewActivity
    promises: list[Promise]


async def find_inboxes(
    db: Connection, context: ActorContext, account_id: int | None, recipients: Recipients
) -> list[FoundInbox]:
    """Return the inboxes of recipients on other servers. Most local changes have none."""
    if not context.outbox.executes(DELIVERIES):
        return []
    return await activities.inboxes(
        db, account_id, recipients.account_ids, account_id if recipients.followers else None,
        recipients.mentioned_in, recipients.interested_in,
    )  # fmt: skip


async def find_inboxes_of_acquaintances(db: Connection, context: ActorContext, account_id: int) -> list[FoundInbox]:
    """Return the inboxes of servers that have a copy of a local account."""
    return await activities.inboxes_of_acquaintances(db, account_id) if context.outbox.executes(DELIVERIES) else []


async def find_next_inboxes(
    db: Connection, context: ActorContext, account_id: int, after: str, limit: int
) -> list[FoundInbox]:
    """Return the first known inboxes that sort after the inbox `after`."""
    return await activities.next_inboxes(db, account_id, after, limit) if context.outbox.executes(DELIVERIES) else []


async def deliver(
    db: Connection,
    context: ActorContext,
    account_id: int | None,
    activity: JsonObject,
    found: Iterable[FoundInbox],
    *,
    urgent: bool = False,
    subject: str | None = None,
) -> list[Promise]:
    """Store an activity of a local account, or of the server if `account_id` is None, and return its deliveries.

    Deliveries to followers wait behind other deliveries, unless the activity is `urgent`. It can be withdrawn by its
    `subject`, the URI of an object.
    """
    prepared = prepare(context, account_id, activity, found, urgent=urgent, subject=subject)
    if prepared is None:
        return []
    await activities.insert(db, prepared.activity, context.clock.now())
    return prepared.promises


def prepare(
    context: ActorContext,
    account_id: int | None,
    activity: JsonObject,
    found: Iterable[FoundInbox],
    *,
    urgent: bool = False,
    subject: str | None = None,
) -> PreparedActivity | None:
    """Return an activity to store, and the promises of its deliveries; None if no inbox may get it."""
    id = context.ids.next()
    promised = (_promise_of(context, account_id, id, inbox, urgent=urgent) for inbox in found)
    promises = [promise for promise in promised if promise is not None]
    body = orjson.dumps(activity)
    if not promises or len(body) > LARGEST_DOCUMENT:
        return None
    return PreparedActivity(NewActivity(id, account_id, body.decode(), len(promises), subject), promises)


async def withdraw(db: Connection, account_id: int, subject: str, found: Sequence[FoundInbox]) -> list[FoundInbox]:
    """Delete the pending deliveries of a subject. Return the other inboxes, which need its Delete or Undo."""
    partitions = [inbox.partition for inbox in found]
    withdrawn = await activities.withdraw(db, DELIVERIES.name, account_id, subject, partitions)
    return [inbox for inbox in found if inbox.partition not in withdrawn]


async def withdraw_all(db: Connection, account_id: int, found: Sequence[FoundInbox]) -> None:
    """Delete all pending deliveries of an account to these inboxes."""
    await activities.withdraw_all(db, DELIVERIES.name, account_id, [inbox.partition for inbox in found])


async def deliver_to(
    db: Connection, context: ActorContext, account_id: int | None, activity: JsonObject, *account_ids: int,
    subject: str | None = None,
) -> list[Promise]:  # fmt: skip
    """Queue an activity for accounts on other servers, as urgent. Local accounts are left out."""
    found = await find_inboxes(db, context, account_id, Recipients(account_ids=account_ids))
    if not found:
        return []
    return await deliver(db, context, account_id, activity, found, urgent=True, subject=subject)


def _promise_of(
    context: ActorContext, account_id: int | None, activity_id: int, found: FoundInbox, *, urgent: bool
) -> Promise | None:
    """Return the promise of a delivery; None if nothing may be sent to the inbox."""
    host = host_of(found.inbox)
    if host is None or len(host) > LONGEST_HOST:
        return None
    domain = next((domain for domain in found.domains if not is_barred(context.blocks, host, domain)), None)
    if domain is None:
        return None
    first, later = groups_of(host)
    # The deliveries of an account to an inbox keep their order: this delivery joins the group of waiting deliveries.
    group = found.waiting or (first if urgent or found.direct else later)
    effect = DeliverActivity(activity_id, found.inbox, domain)
    return Promise(effect, found.partition, account=account_id, group=group)
