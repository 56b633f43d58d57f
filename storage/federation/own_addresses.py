"""The rows behind addresses of this server: names in the case in which they are stored, and statuses by their ids."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..engine.database import Connection

USERNAMES = """
    SELECT username FROM accounts WHERE lower(username) = ANY($1::text[]) AND lower(coalesce(domain, '')) = ''
"""

# The page of a boost leads to the boosted status, whose id and URI are returned.
STATUSES = """
    SELECT s.id, shown.id AS shown_id, shown.uri, lower(a.username) AS username, lower(a.domain) AS domain
    FROM statuses s
    JOIN accounts a ON a.id = s.account_id
    JOIN statuses shown ON shown.id = coalesce(s.reblog_of_id, s.id)
    WHERE s.id = ANY($1::bigint[]) AND s.deleted_at IS NULL AND shown.deleted_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class StatusAtAddress:
    """A status by the id in its address. `username` and `domain` are its author's in lower case."""

    id: int
    shown_id: int
    uri: str
    username: str
    domain: str | None


async def usernames(db: Connection, names: Sequence[str]) -> dict[str, str]:
    """Return the names of local accounts as they are stored, by the names in lower case."""
    rows = await db.fetch(USERNAMES, [name.lower() for name in names])
    return {row["username"].lower(): row["username"] for row in rows}


async def statuses(db: Connection, ids: Sequence[int]) -> dict[int, StatusAtAddress]:
    """Return the statuses with these ids, local or not, without deleted statuses."""
    rows = await db.fetch(STATUSES, ids)
    return {row["id"]: StatusAtAddress(*row.values()) for row in rows}
