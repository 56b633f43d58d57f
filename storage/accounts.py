"""Accounts, local and remote."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from . import account_names
from .custom_emojis import OF_ROW
from .engine.database import Connection
from .engine.json_values import JsonObject
from .engine.sql import Statement, quoted, rows_of

# True if the account `a` belongs to a user who is not confirmed or not approved yet.
PENDING = """
    coalesce((
        SELECT users.confirmed_at IS NULL OR users.approved_at IS NULL FROM users WHERE users.account_id = a.id
    ), false)
"""


def listed(account: str, *, without: str | None = None) -> str:
    """Return SQL that is true if the account in a column belongs on a list of accounts: not suspended or deleted, and
    not in the parameter `without`, a bigint[].

    Lists ask it in the query, before a page is counted: a client takes an empty page for the last page. NOT IN
    uses a hash table. `<> ALL` was turned down: it searches the array from its start for each row.
    """
    left_out = f"{account} NOT IN (SELECT unnest({without}::bigint[])) AND " if without else ""
    return f"""{left_out}NOT EXISTS (
        SELECT FROM accounts a WHERE a.id = {account} AND (a.suspended_at IS NOT NULL OR a.deleted_at IS NOT NULL)
    )"""


EMOJIS = OF_ROW.format(row="a")

# In the order of Account's fields: by position a row becomes a record in half the time.
COLUMNS = f"""
    a.id, a.username, a.domain, a.uri, a.url, a.protocol, a.inbox_url, a.shared_inbox_url, a.outbox_url,
    a.followers_url, a.following_url, a.featured_url, a.public_key, a.display_name, a.note_source, a.note, a.fields,
    a.avatar_file, a.avatar_remote_url, a.avatar_description, a.header_file, a.header_remote_url, a.header_description,
    a.locked, a.bot, a."group", a.discoverable, a.indexable, a.hide_collections, a.memorial, a.also_known_as,
    a.moved_to_id, a.silenced_at, a.sensitized_at, a.suspended_at, a.fetched_at, a.created_at,
    a.updated_at, a.deleted_at,
    a.show_media, a.show_media_replies, a.show_featured, a.attribution_domains,
    {PENDING} AS pending,
    CASE WHEN a.emoji_ids <> '{{}}' THEN ({EMOJIS}) END AS emojis,
    greatest(c.statuses, c.told_statuses) AS statuses_count, greatest(c.followers, c.told_followers) AS followers_count,
    greatest(c.following, c.told_following) AS following_count, c.last_status_at
"""

FIND_MANY = (
    f"SELECT {COLUMNS} FROM accounts a JOIN account_counts c ON c.account_id = a.id WHERE a.id = ANY($1::bigint[])"
)

FIND_BY_ACCT = f"""
    SELECT {COLUMNS} FROM accounts a JOIN account_counts c ON c.account_id = a.id
    WHERE lower(a.username) = lower($1) AND lower(coalesce(a.domain, '')) = lower($2)
"""

FIND_LOCAL_MANY = f"""
    SELECT {COLUMNS} FROM accounts a JOIN account_counts c ON c.account_id = a.id
    WHERE lower(a.username) = ANY($1::text[]) AND lower(coalesce(a.domain, '')) = ''
"""

# In bytes, as the index on names has them: plans are made without the parameters, and LIKE would read all rows.
FIND_NAMES = """
    SELECT username FROM accounts
    WHERE lower(username) ~>=~ $1 AND lower(username) ~<~ ($1 || chr(127)) AND domain IS NULL
    ORDER BY lower(username) LIMIT $2
"""

# Accounts that a status may mention.
FIND_MENTIONABLE = f"""
    SELECT {COLUMNS} FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS handle (username, domain, place)
    JOIN accounts a ON lower(a.username) = handle.username AND lower(coalesce(a.domain, '')) = handle.domain
    JOIN account_counts c ON c.account_id = a.id
    LEFT JOIN users u ON u.account_id = a.id
    WHERE a.suspended_at IS NULL AND a.deleted_at IS NULL
    AND (a.domain IS NOT NULL OR (u.confirmed_at IS NOT NULL AND u.approved_at IS NOT NULL))
    ORDER BY handle.place
"""

NEW_COLUMNS = {
    "id": "bigint",
    "username": "text",
    "domain": "text",
    "uri": "text",
    "url": "text",
    "inbox_url": "text",
    "shared_inbox_url": "text",
    "outbox_url": "text",
    "followers_url": "text",
    "following_url": "text",
    "featured_url": "text",
    "display_name": "text",
    "locked": "boolean",
    "discoverable": "boolean",
}

INSERT_MANY = Statement(f"""
    WITH made AS (
        INSERT INTO accounts ({quoted(NEW_COLUMNS)}, created_at, updated_at)
        SELECT new.*, :now::timestamptz, :now::timestamptz FROM {rows_of(NEW_COLUMNS, "new")}
        RETURNING id
    )
    INSERT INTO account_counts (account_id) SELECT id FROM made
""")

# In the order of ids: two transactions that change the counts of the same accounts never wait for each other.
LOCK_COUNTS = (
    "SELECT account_id FROM account_counts WHERE account_id = ANY($1::bigint[]) ORDER BY account_id FOR UPDATE"
)


@dataclass(frozen=True, slots=True)
class Account:
    """An account with its counts. It has no private key, so that the key is in no cache: see `find_private_key`."""

    id: int
    username: str
    domain: str | None
    uri: str
    url: str | None
    protocol: str
    inbox_url: str | None
    shared_inbox_url: str | None
    outbox_url: str | None
    followers_url: str | None
    following_url: str | None
    featured_url: str | None
    public_key: str | None
    display_name: str
    note_source: str
    note: str
    fields: list[JsonObject]
    avatar_file: str | None
    avatar_remote_url: str | None
    avatar_description: str
    header_file: str | None
    header_remote_url: str | None
    header_description: str
    locked: bool
    bot: bool
    group: bool
    discoverable: bool
    indexable: bool
    hide_collections: bool
    memorial: bool
    also_known_as: list[str]
    moved_to_id: int | None
    silenced_at: datetime | None
    sensitized_at: datetime | None
    suspended_at: datetime | None
    fetched_at: datetime | None
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None
    show_media: bool
    show_media_replies: bool
    show_featured: bool
    attribution_domains: list[str]
    pending: bool  # True for a user who is not confirmed and approved: other accounts do not see the account
    emojis: list[tuple[int, str, str]] | None  # of another server's profile: id, name and address of each
    statuses_count: int
    followers_count: int
    following_count: int
    last_status_at: datetime | None

    @property
    def local(self) -> bool:
        return self.domain is None

    @property
    def acct(self) -> str:
        """The handle as this server shows it: `user`, or `user@domain` for a remote account."""
        return self.username if self.domain is None else f"{self.username}@{self.domain}"


@dataclass(frozen=True, slots=True)
class NewAccount:
    """The values of an account when it is first stored, without the values that all new accounts share."""

    id: int
    username: str
    domain: str | None
    uri: str
    url: str | None
    inbox_url: str | None = None
    shared_inbox_url: str | None = None
    outbox_url: str | None = None
    followers_url: str | None = None
    following_url: str | None = None
    featured_url: str | None = None
    display_name: str = ""
    locked: bool = False
    discoverable: bool = False


async def create_local_many(db: Connection, new: Sequence[NewAccount], now: datetime) -> None:
    """Store many local accounts in one statement, all or none."""
    if any(account.domain is not None for account in new):
        raise ValueError("a local account has no domain")
    await db.execute(*INSERT_MANY.bind_many(new, now=now))
    await account_names.store(db, [account.id for account in new])


async def find(db: Connection, id: int) -> Account | None:
    found = await find_many(db, [id])
    return found.get(id)


async def find_many(db: Connection, ids: Sequence[int]) -> dict[int, Account]:
    """Return accounts by id, also deleted and suspended accounts: the caller decides which to show."""
    return {row["id"]: Account(*row.values()) for row in await db.fetch(FIND_MANY, ids)}


async def find_by_acct(db: Connection, username: str, domain: str | None) -> Account | None:
    row = await db.fetchrow(FIND_BY_ACCT, username, domain or "")
    return Account(*row.values()) if row is not None else None


async def find_local_many(db: Connection, usernames: Sequence[str]) -> dict[str, Account]:
    """Return local accounts by name in lower case. Unknown names are left out."""
    rows = await db.fetch(FIND_LOCAL_MANY, [name.lower() for name in usernames])
    return {row["username"].lower(): Account(*row.values()) for row in rows}


async def find_mentionable(db: Connection, handles: Sequence[str]) -> dict[str, Account]:
    """Return accounts by handle in lower case (`name` or `name@domain`), without accounts that cannot be mentioned."""
    parts = [handle.partition("@") for handle in handles]
    rows = await db.fetch(FIND_MENTIONABLE, [name for name, _, _ in parts], [domain for _, _, domain in parts])
    return {(account := Account(**row)).acct.lower(): account for row in rows}


async def find_names(db: Connection, begin: str, limit: int) -> list[str]:
    """Return the names of local accounts that begin with these characters, in any case."""
    rows = await db.fetch(FIND_NAMES, begin.lower(), limit)
    return [row["username"] for row in rows]


async def lock_counts(db: Connection, ids: Sequence[int]) -> None:
    """Lock count rows in the order of ids, before several are changed, so that two transactions do not deadlock."""
    await db.execute(LOCK_COUNTS, ids)
