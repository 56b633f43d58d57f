"""The work of `troupe federation`, in one transaction each."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from ...actors.deliveries.hosts import QUEUE, groups_of
from ...actors.kernel import Ids
from ...storage import activities, hosts
from ...storage.engine import notices
from ...storage.engine.database import Connection
from ...storage.engine.json_values import JsonObject
from .acting import NotDone


async def listed(db: Connection, ids: Ids, now: datetime) -> list[JsonObject]:
    """Return the hosts that deliveries fail to reach or wait for."""
    return [_fields(one) for one in await hosts.overview(db, QUEUE)]


async def shown(db: Connection, host: str, ids: Ids, now: datetime) -> JsonObject:
    """Return what is known of a host."""
    found = await hosts.overview(db, QUEUE, host.lower())
    if not found:
        raise NotDone(f"Nothing is known of {host}: no delivery has gone there, and none waits.")
    return _fields(found[0])


async def retried(db: Connection, host: str, ids: Ids, now: datetime) -> int:
    """Make all deliveries to a host due. Return the number of those that had to wait."""
    await hosts.close_breaker(db, host.lower())
    number = await hosts.make_due(db, groups_of(host.lower()), QUEUE, now)
    await notices.announce(db, "hosts")
    return number


async def dropped(db: Connection, host: str, ids: Ids, now: datetime) -> int:
    """Delete all deliveries to a host, and the activities that had no others. Return their number."""
    gone = await hosts.drop(db, groups_of(host.lower()), QUEUE)
    for activity_id, deliveries in gone.items():
        await activities.finish(db, activity_id, deliveries)
    return sum(gone.values())


def _fields(one: hosts.HostOverview) -> JsonObject:
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in asdict(one).items()}
