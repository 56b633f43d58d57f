"""Making announcements directly in the rows, for the commands."""

from __future__ import annotations

from datetime import datetime

from ...actors import announcing
from ...actors.announcing import InvalidAnnouncement, NewAnnouncement, state_of
from ...actors.kernel import Refused
from ...actors.kernel.ids import Ids
from ...actors.staff import act_at_command_line
from ...storage import announcements
from ...storage.engine.database import Connection
from ..configuration import Settings
from ..domain import base_url, require_domain
from .acting import allowed


async def add_announcement(db: Connection, settings: Settings, wanted: NewAnnouncement, ids: Ids, now: datetime) -> int:
    """Make an announcement and return its id."""
    url = base_url(settings)
    await require_domain(db, settings, url)
    act = act_at_command_line(ids, now)
    return allowed(await announcing.add(db, act, wanted, url, settings.local_domain)).id


async def find_announcements(db: Connection, ids: Ids, now: datetime) -> list[dict[str, object]]:
    """Return all announcements, as JSON."""
    return [
        {
            "id": str(one.id),
            "state": state_of(one, now),
            "text": one.text,
            "starts_at": _written(one.starts_at),
            "ends_at": _written(one.ends_at),
            "all_day": one.all_day,
            "published_at": _written(one.published_at),
        }
        for one in await announcements.find_all(db)
    ]


async def publish_announcement(db: Connection, id: int, at: datetime | None, ids: Ids, now: datetime) -> None:
    _found(id, await announcing.publish(db, act_at_command_line(ids, now), id, at))


async def unpublish_announcement(db: Connection, id: int, ids: Ids, now: datetime) -> None:
    _found(id, await announcing.withdraw(db, act_at_command_line(ids, now), id))


async def remove_announcement(db: Connection, id: int, ids: Ids, now: datetime) -> None:
    _found(id, await announcing.remove(db, act_at_command_line(ids, now), id))


def _found(id: int, outcome: object) -> None:
    if isinstance(outcome, Refused):
        raise InvalidAnnouncement(f"there is no announcement {id}")


def _written(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()
