"""The followers of accounts by server, and digests of these lists (FEP-8fcf)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ..engine.database import Connection

# The XOR of the SHA-256 of URIs, as 256 binary digits; NULL for none.
DIGEST = "bit_xor(('x' || encode(sha256(convert_to(a.uri, 'UTF8')), 'hex'))::bit(256))::text"

# The scheme and the host of a URI.
ORIGIN = "lower(substring(a.uri FROM '^https?://[^/]+'))"

DIGESTS = f"""
    SELECT {ORIGIN} AS origin, {DIGEST} AS digest
    FROM follows f JOIN accounts a ON a.id = f.account_id
    WHERE f.target_account_id = $1 AND f.from_domain IS NOT NULL AND a.deleted_at IS NULL GROUP BY 1
"""

DIGEST_HERE = f"""
    SELECT {DIGEST} FROM follows f JOIN accounts a ON a.id = f.account_id
    WHERE f.target_account_id = $1 AND f.from_domain IS NULL AND a.deleted_at IS NULL
"""

PAGE = f"""
    SELECT a.id, a.uri FROM follows f JOIN accounts a ON a.id = f.account_id
    WHERE f.target_account_id = $1 AND f.from_domain IS NOT NULL AND a.deleted_at IS NULL
    AND {ORIGIN} = $2 AND a.id > $3
    ORDER BY a.id LIMIT $4
"""

PAGE_HERE = """
    SELECT a.id, a.uri FROM follows f JOIN accounts a ON a.id = f.account_id
    WHERE f.target_account_id = $1 AND f.from_domain IS NULL AND f.created_at < $2 AND a.id > $3
    ORDER BY a.id LIMIT $4
"""

# An account without a key has never sent anything to another server, so that it can't follow an account there.
UNKNOWN = """
    SELECT a.id FROM accounts a
    WHERE a.uri = ANY($2::text[]) AND a.domain IS NULL AND a.deleted_at IS NULL AND a.public_key IS NOT NULL
    AND NOT EXISTS (SELECT FROM follows f WHERE f.account_id = a.id AND f.target_account_id = $1)
    AND NOT EXISTS (SELECT FROM follow_requests r WHERE r.account_id = a.id AND r.target_account_id = $1)
    ORDER BY a.id LIMIT $3
"""

BEGUN_BEFORE = """
    SELECT account_id FROM follows
    WHERE target_account_id = $1 AND account_id = ANY($2::bigint[]) AND created_at < $3 ORDER BY account_id
"""


@dataclass(frozen=True, slots=True)
class Follower:
    """An account that follows the requested account."""

    id: int
    uri: str


async def digests(db: Connection, account_id: int) -> dict[str, str]:
    """Return the digests of an account's followers on other servers, by the scheme and host of their URIs."""
    return {row["origin"]: _hexadecimal(row["digest"]) for row in await db.fetch(DIGESTS, account_id)}


async def digest_here(db: Connection, account_id: int) -> str:
    """Return the digest of the followers that an account has on this server."""
    return _hexadecimal(await db.fetchval(DIGEST_HERE, account_id))


async def page(db: Connection, account_id: int, origin: str, after: int, limit: int) -> list[Follower]:
    """Return the next followers whose URIs have a scheme and host, in the order of their ids."""
    return [Follower(**row) for row in await db.fetch(PAGE, account_id, origin, after, limit)]


async def page_here(db: Connection, account_id: int, before: datetime, after: int, limit: int) -> list[Follower]:
    """Return the next followers on this server that began to follow before a time, in the order of their ids."""
    return [Follower(**row) for row in await db.fetch(PAGE_HERE, account_id, before, after, limit)]


async def unknown(db: Connection, account_id: int, uris: Sequence[str], limit: int) -> list[int]:
    """Return which accounts of this server neither follow an account nor have asked to, although they could have."""
    return [row["id"] for row in await db.fetch(UNKNOWN, account_id, list(uris), limit)]


async def begun_before(db: Connection, account_id: int, followers: Sequence[int], before: datetime) -> list[int]:
    """Return which of these followers of an account began to follow it before a time."""
    return [row["account_id"] for row in await db.fetch(BEGUN_BEFORE, account_id, list(followers), before)]


def _hexadecimal(bits: str | None) -> str:
    return f"{int(bits or '0', 2):064x}"
