"""Announcements of the operator, with the reactions of accounts and who has dismissed them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection, Row
from .engine.json_values import JsonObject
from .engine.sql import Statement

MOST_SHOWN = 100

# In the order of Announcement's fields.
COLUMNS = "id, text, content, mentions, statuses, tags, starts_at, ends_at, all_day, published_at, updated_at"
SHOWN = "published_at <= $1 AND (ends_at IS NULL OR ends_at > $1)"

FIND = f"SELECT {COLUMNS} FROM announcements WHERE id = $1"
ALL = f"SELECT {COLUMNS} FROM announcements ORDER BY id"
CURRENT = f"SELECT {COLUMNS} FROM announcements WHERE {SHOWN} ORDER BY coalesce(starts_at, published_at), id LIMIT $2"

DISMISSED = "SELECT announcement_id FROM announcement_dismissals WHERE account_id = $1"
DISMISS = f"""
    INSERT INTO announcement_dismissals (announcement_id, account_id)
    SELECT id, $3 FROM announcements WHERE id = $2 AND {SHOWN}
    ON CONFLICT (account_id, announcement_id) DO UPDATE SET account_id = excluded.account_id RETURNING announcement_id
"""

REACTIONS = """
    SELECT announcement_id, name, count(*), bool_or(account_id = $2)
    FROM announcement_reactions WHERE announcement_id = ANY($1::bigint[])
    GROUP BY announcement_id, name ORDER BY announcement_id, min(created_at), name
"""

# The update locks the row until the end of the transaction, so that the reactions to an announcement take turns.
LOCK = f"UPDATE announcements SET version = version + 1 WHERE id = $2 AND {SHOWN} RETURNING version"
VERSION = "SELECT version FROM announcements WHERE id = $1"
KINDS = "SELECT count(DISTINCT name) FROM announcement_reactions WHERE announcement_id = $1 AND name <> $2"
COUNT = "SELECT count(*) FROM announcement_reactions WHERE announcement_id = $1 AND name = $2"
REACT = "INSERT INTO announcement_reactions VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"
UNREACT = "DELETE FROM announcement_reactions WHERE announcement_id = $1 AND account_id = $2 AND name = $3 RETURNING 1"

INSERT = Statement(f"""
    INSERT INTO announcements ({COLUMNS})
    VALUES (:id, :text, :content, :mentions, :statuses, :tags, :starts_at, :ends_at, :all_day, :published_at,
        :updated_at)
""")
PUBLISH = f"UPDATE announcements SET published_at = $2, updated_at = $3 WHERE id = $1 RETURNING {COLUMNS}"
DELETE = "DELETE FROM announcements WHERE id = $1 RETURNING id"


@dataclass(frozen=True, slots=True)
class Announcement:
    """An announcement as the operator made it: `text` as typed, `content` as HTML.

    `mentions` and `statuses` are the objects that clients are shown.
    """

    id: int
    text: str
    content: str
    mentions: tuple[dict[str, str], ...]
    statuses: tuple[dict[str, str], ...]
    tags: tuple[str, ...]
    starts_at: datetime | None
    ends_at: datetime | None
    all_day: bool
    published_at: datetime | None
    updated_at: datetime

    def is_shown(self, now: datetime) -> bool:
        """True if clients are shown the announcement now."""
        begun = self.published_at is not None and self.published_at <= now
        return begun and (self.ends_at is None or self.ends_at > now)


@dataclass(frozen=True, slots=True)
class Reaction:
    """The number of accounts that reacted with an emoji. `me` is true if the viewer reacted with it."""

    name: str
    count: int
    me: bool = False


@dataclass(frozen=True, slots=True)
class ShownAnnouncement:
    """An announcement with its reactions. `read`: the viewer has dismissed it; None without a viewer."""

    announcement: Announcement
    reactions: tuple[Reaction, ...]
    read: bool | None = None


async def find(db: Connection, id: int) -> Announcement | None:
    row = await db.fetchrow(FIND, id)
    return None if row is None else _announcement(row)


async def find_all(db: Connection) -> list[Announcement]:
    """Return all announcements, also drafts and announcements that have ended."""
    return [_announcement(row) for row in await db.fetch(ALL)]


async def find_shown(db: Connection, id: int) -> ShownAnnouncement | None:
    """Return an announcement as streams show it: the same for all viewers."""
    found = await find(db, id)
    return None if found is None else ShownAnnouncement(found, (await _reactions(db, [id], 0)).get(id, ()))


async def current(db: Connection, account_id: int, now: datetime) -> list[ShownAnnouncement]:
    """Return the announcements that are shown now, as an account sees them, the earliest first."""
    found = [_announcement(row) for row in await db.fetch(CURRENT, now, MOST_SHOWN)]
    if not found:
        return []
    reactions = await _reactions(db, [announcement.id for announcement in found], account_id)
    dismissed = {row["announcement_id"] for row in await db.fetch(DISMISSED, account_id)}
    return [
        ShownAnnouncement(announcement, reactions.get(announcement.id, ()), announcement.id in dismissed)
        for announcement in found
    ]


async def dismiss(db: Connection, id: int, account_id: int, now: datetime) -> bool:
    """Note that an account has read an announcement. False if it is not shown."""
    return await db.fetchval(DISMISS, now, id, account_id) is not None


async def lock(db: Connection, id: int, now: datetime) -> int | None:
    """Wait until no other transaction changes the reactions. Return the new version; None if it is not shown."""
    return await db.fetchval(LOCK, now, id)


async def find_version(db: Connection, id: int) -> int | None:
    """Return how often the reactions were changed."""
    return await db.fetchval(VERSION, id)


async def other_kinds(db: Connection, id: int, name: str) -> int:
    """Return with how many other emoji accounts have reacted."""
    return await db.fetchval(KINDS, id, name)


async def count(db: Connection, id: int, name: str) -> int:
    """Return how many accounts have reacted with an emoji."""
    return await db.fetchval(COUNT, id, name)


async def react(db: Connection, id: int, account_id: int, name: str, now: datetime) -> None:
    await db.execute(REACT, id, account_id, name, now)


async def unreact(db: Connection, id: int, account_id: int, name: str) -> bool:
    """Take a reaction back. False if there is none."""
    return await db.fetchval(UNREACT, id, account_id, name) is not None


async def insert(db: Connection, announcement: Announcement) -> None:
    await db.execute(*INSERT.bind(announcement))


async def publish(db: Connection, id: int, at: datetime | None, now: datetime) -> Announcement | None:
    """Set the time from which an announcement is shown; None takes it back. Return it as it is then."""
    row = await db.fetchrow(PUBLISH, id, at, now)
    return None if row is None else _announcement(row)


async def delete(db: Connection, id: int) -> bool:
    """Delete an announcement with its reactions. False if there is none."""
    return await db.fetchval(DELETE, id) is not None


async def _reactions(db: Connection, ids: list[int], viewer: int) -> dict[int, tuple[Reaction, ...]]:
    found: dict[int, tuple[Reaction, ...]] = {}
    for row in await db.fetch(REACTIONS, ids, viewer):
        id, *reaction = row.values()
        found[id] = (*found.get(id, ()), Reaction(*reaction))
    return found


def _announcement(row: Row) -> Announcement:
    fields: JsonObject = dict(row)
    fields |= {name: tuple(fields[name]) for name in ("mentions", "statuses", "tags")}
    return Announcement(**fields)
