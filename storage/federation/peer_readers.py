"""The rows that decide if an actor of another server may read an account and its posts."""

from dataclasses import dataclass

from ..engine.database import Connection

# The domain of an actor is that of its handle, and the host of its URI.
FIND = """
    SELECT
        a.id AS account_id, a.suspended_at IS NOT NULL OR a.deleted_at IS NOT NULL AS barred,
        EXISTS (
            SELECT FROM account_domain_blocks d WHERE d.account_id = $2 AND d.domain IN ($3, a.domain)
        ) AS domain_blocked
    FROM (SELECT $1::text AS uri) AS asking LEFT JOIN accounts a ON a.uri = asking.uri
"""

# Also between two steps of sending: see `sending_key` in `actors/effects/sending.py`.
UNSENT = """
    SELECT EXISTS (SELECT FROM activities WHERE account_id = $1)
        OR EXISTS (SELECT FROM outbox WHERE partition_key = 'send_account/' || $1)
"""


@dataclass(frozen=True, slots=True)
class PeerReader:
    """An actor of another server. It has no account here if it is not known."""

    account_id: int | None
    barred: bool
    domain_blocked: bool


async def find(db: Connection, uri: str, owner_id: int, host: str) -> PeerReader:
    """Return the actor with this URI as it stands to `owner_id`, whose documents it wants to read."""
    return PeerReader(**await db.fetchrow(FIND, uri, owner_id, host))


async def has_unsent_activities(db: Connection, account_id: int) -> bool:
    """True if activities of an account are still to be sent. Other servers need its key to verify them."""
    return await db.fetchval(UNSENT, account_id)
