"""Rows and files of other domains, for the command that removes them. Subdomains belong to their domain."""

from dataclasses import dataclass

from ..engine.database import Connection

_WITHIN = "({column} = $1 OR right({column}, length($1) + 1) = '.' || $1)"

SURVEY = f"""
    SELECT known.domain, (SELECT count(*) FROM accounts a WHERE a.domain = known.domain) AS accounts, (
        SELECT count(*) FROM accounts a JOIN statuses s ON s.account_id = a.id
        WHERE a.domain = known.domain AND s.deleted_at IS NULL
    ) AS statuses, (SELECT count(*) FROM custom_emojis e WHERE e.domain = known.domain) AS emojis
    FROM (
        SELECT domain FROM accounts WHERE {_WITHIN.format(column="domain")}
        UNION SELECT domain FROM custom_emojis WHERE {_WITHIN.format(column="domain")}
    ) AS known ORDER BY known.domain
"""

ACCOUNTS = f"""
    SELECT id FROM accounts WHERE {_WITHIN.format(column="domain")} AND id > $2 ORDER BY id LIMIT $3
"""

DELETE_EMOJIS = f"""
    DELETE FROM custom_emojis WHERE {_WITHIN.format(column="domain")} RETURNING file, static_file
"""


@dataclass(frozen=True, slots=True)
class KnownDomain:
    """A domain of another server, and how much of it is kept. Accounts that were deleted are counted too."""

    domain: str
    accounts: int
    statuses: int
    emojis: int


async def survey(db: Connection, domain: str) -> list[KnownDomain]:
    """Return the numbers of accounts, statuses and emoji of a domain and of each of its subdomains."""
    return [KnownDomain(**row) for row in await db.fetch(SURVEY, domain)]


async def accounts(db: Connection, domain: str, after: int, limit: int) -> list[int]:
    """Return the next accounts of a domain and its subdomains after an id, also deleted ones."""
    return [row["id"] for row in await db.fetch(ACCOUNTS, domain, after, limit)]


async def delete_emojis(db: Connection, domain: str) -> list[str]:
    """Delete the custom emoji of a domain and its subdomains. Return their files, which must be removed."""
    rows = await db.fetch(DELETE_EMOJIS, domain)
    return sorted({name for row in rows for name in (row["file"], row["static_file"]) if name is not None})
