"""Accounts that moved to another account, their followers here, who move along, and the aliases of local accounts.

An alias is the URI of another account of the same person: it allows the other account to move here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection

BEGIN = """
    UPDATE accounts SET moved_to_id = $2, moved_at = $3
    WHERE id = $1 AND id <> $2 AND deleted_at IS NULL AND (moved_at IS NULL OR moved_at <= $4)
    RETURNING id
"""

END = "UPDATE accounts SET moved_to_id = NULL WHERE id = $1 AND moved_to_id IS NOT NULL RETURNING id"

HAS_COME_BACK = "SELECT EXISTS (SELECT FROM accounts WHERE id = $1 AND domain IS NULL AND moved_to_id IS NULL)"

ALIASES = """
    SELECT alias.uri, other.username, other.domain
    FROM accounts a CROSS JOIN LATERAL unnest(a.also_known_as) WITH ORDINALITY AS alias (uri, place)
    LEFT JOIN accounts other ON other.uri = alias.uri
    WHERE a.id = $1 ORDER BY alias.place
"""

ADD_ALIAS = "UPDATE accounts SET also_known_as = also_known_as || $2::text WHERE id = $1"

REMOVE_ALIAS = """
    UPDATE accounts SET also_known_as = array_remove(also_known_as, $2)
    WHERE id = $1 AND also_known_as @> ARRAY[$2::text] RETURNING id
"""

LOCAL_FOLLOWERS = """
    SELECT account_id FROM follows WHERE target_account_id = $1 AND from_domain IS NULL AND account_id > $2
    ORDER BY account_id LIMIT $3
"""


@dataclass(frozen=True, slots=True)
class Alias:
    """Another account of the same person. Its handle is None if this server does not know it any more."""

    uri: str
    handle: str | None


async def begin(db: Connection, account_id: int, target_id: int, now: datetime, not_since: datetime) -> bool:
    """Note that an account has moved. False if it has moved since a time, or is gone."""
    return await db.fetchval(BEGIN, account_id, target_id, now, not_since) is not None


async def end(db: Connection, account_id: int) -> bool:
    """Note that an account is where it was. False if it had not moved."""
    return await db.fetchval(END, account_id) is not None


async def has_come_back(db: Connection, account_id: int) -> bool:
    """True for an account of this server that has not moved, or not any more."""
    return await db.fetchval(HAS_COME_BACK, account_id)


async def aliases(db: Connection, account_id: int) -> list[Alias]:
    """Return the aliases of an account, in the order in which they were added."""
    return [Alias(uri, _handle(username, domain)) for uri, username, domain in await db.fetch(ALIASES, account_id)]


async def add_alias(db: Connection, account_id: int, uri: str) -> None:
    """Add an alias that the account does not have yet."""
    await db.execute(ADD_ALIAS, account_id, uri)


async def remove_alias(db: Connection, account_id: int, uri: str) -> bool:
    """Remove an alias. False if there was none."""
    return await db.fetchval(REMOVE_ALIAS, account_id, uri) is not None


async def local_followers(db: Connection, account_id: int, after: int, limit: int) -> Sequence[int]:
    """Return some followers of this server, with ids after a given id."""
    return [row["account_id"] for row in await db.fetch(LOCAL_FOLLOWERS, account_id, after, limit)]


def _handle(username: str | None, domain: str | None) -> str | None:
    return username if username is None or domain is None else f"{username}@{domain}"
