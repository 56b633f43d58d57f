"""E-mail addresses that may not sign up, domains whose addresses may not, and the number of tries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from .engine.database import Connection
from .server_blocks import in_table

FIND_AMONG = """
    SELECT id, domain, allow_with_approval, created_at FROM blocked_email_domains WHERE domain = ANY($1::text[])
"""

# A block may have ended meanwhile.
COUNT = """
    INSERT INTO email_domain_attempts (block_id, day, network)
    SELECT id, $2, $3 FROM blocked_email_domains WHERE id = ANY($1::bigint[])
    ON CONFLICT (block_id, day, network) DO UPDATE SET uses = email_domain_attempts.uses + 1
"""

HISTORY = """
    SELECT block_id, day, count(*) AS accounts, sum(uses) AS uses FROM email_domain_attempts
    WHERE block_id = ANY($1::bigint[]) AND day >= $2 GROUP BY block_id, day
"""


@in_table("blocked_emails", key="email_hash")
@dataclass(frozen=True, slots=True)
class BlockedEmail:
    """An address, as SHA-256 of its canonical form: the address can't be read from here."""

    id: int
    email_hash: bytes
    created_at: datetime


@in_table("blocked_email_domains", key="domain")
@dataclass(frozen=True, slots=True)
class BlockedEmailDomain:
    """A domain of e-mail addresses, or of mail servers. With approval its users may sign up."""

    id: int
    domain: str
    allow_with_approval: bool
    created_at: datetime


# By block and day: the number of networks that attempts came from, and of attempts.
History = Mapping[tuple[int, date], tuple[int, int]]


async def find_among(db: Connection, domains: Sequence[str]) -> list[BlockedEmailDomain]:
    """Return the blocks of any of these domains."""
    return [BlockedEmailDomain(**row) for row in await db.fetch(FIND_AMONG, list(domains))]


async def count(db: Connection, ids: Sequence[int], day: date, network: str) -> None:
    """Count an attempt to sign up that blocks of domains have met."""
    await db.execute(COUNT, list(ids), day, network)


async def history(db: Connection, ids: Sequence[int], since: date) -> History:
    """Return the attempts that blocks of domains have met since a day."""
    rows = await db.fetch(HISTORY, list(ids), since)
    return {(row["block_id"], row["day"]): (row["accounts"], row["uses"]) for row in rows}
