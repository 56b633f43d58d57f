"""Custom emoji: of this server, and of other servers if statuses or profiles from there use them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection, Row
from .engine.sql import Statement, assigned
from .upkeep.paging import Page, both_ways, rows_of

# In the order of CustomEmoji's fields.
COLUMNS = "id, shortcode, file, static_file, category, visible_in_picker, disabled, updated_at"

LOCAL = f"SELECT {COLUMNS} FROM custom_emojis WHERE domain IS NULL ORDER BY shortcode"

PAGE = both_ways(f"""
    SELECT {COLUMNS} FROM custom_emojis WHERE domain IS NULL AND id < $1 AND id > $2 ORDER BY id {{order}} LIMIT $3
""")

FIND = f"SELECT {COLUMNS} FROM custom_emojis WHERE domain IS NULL AND id = $1"

# Emoji are changed by one transaction at a time: two of them may want one name.
LOCK = "LOCK TABLE custom_emojis IN SHARE ROW EXCLUSIVE MODE"

EXISTS = "SELECT EXISTS (SELECT FROM custom_emojis WHERE domain IS NULL AND shortcode = $1 AND NOT disabled)"

INSERT = Statement("""
    INSERT INTO custom_emojis
        (id, shortcode, file, static_file, category, visible_in_picker, disabled, created_at, updated_at)
    SELECT *, :now, :now FROM unnest(
        :id::bigint[], :shortcode::text[], :file::text[], :static_file::text[], :category::text[],
        :visible_in_picker::boolean[], :disabled::boolean[]
    )
""")

UPDATE = Statement(f"""
    UPDATE custom_emojis SET {assigned("file, static_file, category, visible_in_picker, disabled")}, updated_at = :now
    WHERE id = :id
""")

DELETE = f"DELETE FROM custom_emojis WHERE domain IS NULL AND shortcode = ANY($1::text[]) RETURNING {COLUMNS}"


# A picture with another address is another picture.
PUT_REMOTE = """
    INSERT INTO custom_emojis
        (id, shortcode, domain, remote_url, visible_in_picker, disabled, created_at, updated_at)
    SELECT new.id, new.shortcode, $4, new.url, false, false, $5, $5
    FROM unnest($1::bigint[], $2::text[], $3::text[]) AS new (id, shortcode, url) ORDER BY new.shortcode
    ON CONFLICT (domain, shortcode) WHERE domain IS NOT NULL DO UPDATE SET
        remote_url = excluded.remote_url, file = NULL, static_file = NULL, updated_at = excluded.updated_at
    WHERE custom_emojis.remote_url IS DISTINCT FROM excluded.remote_url
"""

KNOWN = "SELECT shortcode FROM custom_emojis WHERE domain = $1 AND shortcode = ANY($2::text[])"

# Names read backwards that begin with the domain's: itself, and those below it. "/" follows "." in order.
COUNT_BELOW = """
    SELECT count(*) FROM (
        SELECT FROM custom_emojis WHERE domain IS NOT NULL AND reverse(split_part(domain, ':', 1)) COLLATE "C" = $1
        UNION ALL
        SELECT FROM custom_emojis
        WHERE domain IS NOT NULL AND reverse(split_part(domain, ':', 1)) COLLATE "C" > $1 || '.'
        AND reverse(split_part(domain, ':', 1)) COLLATE "C" < $1 || '/'
        LIMIT $2
    ) AS found
"""

FIND_REMOTE = "SELECT id FROM custom_emojis WHERE domain = $1 AND shortcode = ANY($2::text[])"

# The emoji of a status or an account, for a query over rows with `emoji_ids`, in the order of RemoteEmoji's fields.
OF_ROW = """
    SELECT jsonb_agg(jsonb_build_array(e.id, e.shortcode, e.remote_url) ORDER BY e.shortcode)
    FROM custom_emojis e WHERE e.id = ANY({row}.emoji_ids) AND e.remote_url IS NOT NULL AND NOT e.disabled
"""


@dataclass(frozen=True, slots=True)
class RemoteEmoji:
    """A picture with a name, on another server."""

    id: int
    shortcode: str
    url: str


@dataclass(frozen=True, slots=True)
class CustomEmoji:
    """A picture with a name. A disabled emoji is shown nowhere; without `visible_in_picker`, in texts only."""

    id: int
    shortcode: str
    file: str
    static_file: str
    category: str | None = None
    visible_in_picker: bool = True
    disabled: bool = False
    updated_at: datetime | None = None  # None before it is stored

    @property
    def files(self) -> tuple[str, ...]:
        """The names of its files."""
        return tuple(dict.fromkeys((self.file, self.static_file)))


async def put_remote(db: Connection, domain: str, emojis: Sequence[tuple[int, str, str]], now: datetime) -> list[int]:
    """Store emoji of another server, each as fresh id, name and address. Return the ids by which they are stored.

    An emoji whose name is known gets the new address.
    """
    if not emojis:
        return []
    ids, shortcodes, urls = zip(*emojis, strict=True)
    await db.execute(PUT_REMOTE, list(ids), list(shortcodes), list(urls), domain, now)
    return [row["id"] for row in await db.fetch(FIND_REMOTE, domain, list(shortcodes))]


async def known_of(db: Connection, domain: str, shortcodes: Sequence[str]) -> set[str]:
    """Return which of these names another server's emoji have."""
    return {row["shortcode"] for row in await db.fetch(KNOWN, domain, list(shortcodes))}


async def count_below(db: Connection, domain: str, most: int) -> int:
    """Return how many emoji a domain and its subdomains have, counted up to a limit."""
    return await db.fetchval(COUNT_BELOW, domain[::-1], most)


async def find_local(db: Connection) -> list[CustomEmoji]:
    """Return all emoji of this server, in the order of their names."""
    return [_custom_emoji(row) for row in await db.fetch(LOCAL)]


async def page(db: Connection, page: Page) -> list[CustomEmoji]:
    """Return emoji of this server, newest first."""
    return [_custom_emoji(row) for row in await rows_of(db, PAGE, page)]


async def find(db: Connection, id: int) -> CustomEmoji | None:
    """Return an emoji of this server."""
    row = await db.fetchrow(FIND, id)
    return None if row is None else _custom_emoji(row)


async def lock(db: Connection) -> list[CustomEmoji]:
    """Return all emoji of this server. They stay so until the end of the transaction."""
    await db.execute(LOCK)
    return await find_local(db)


async def exists(db: Connection, shortcode: str) -> bool:
    """True if there is an emoji of this name that is not disabled."""
    return await db.fetchval(EXISTS, shortcode)


async def insert_many(db: Connection, emojis: Sequence[CustomEmoji], now: datetime) -> None:
    """Add emoji whose names are free."""
    await db.execute(*INSERT.bind_many(emojis, now=now))


async def update(db: Connection, emoji: CustomEmoji, now: datetime) -> None:
    """Store everything of an emoji except its name."""
    await db.execute(*UPDATE.bind(emoji, now=now))


async def delete_many(db: Connection, shortcodes: Sequence[str]) -> list[CustomEmoji]:
    """Delete emoji and return the deleted ones: their files must be removed after the commit."""
    return [_custom_emoji(row) for row in await db.fetch(DELETE, shortcodes)]


def _custom_emoji(row: Row) -> CustomEmoji:
    return CustomEmoji(*row.values())
