"""Server-wide blocks of domains, the states that they put the accounts of these domains in, and allowed domains.

The states are written into the rows of the accounts, with the time of the block as their stamp. So every query and
cache that knows the states of accounts knows those of domains too, and reading costs nothing more. The stamp tells
these states from those that staff put single accounts in: the end of a block takes back only the states that it set.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from . import server_blocks
from .engine.database import Connection
from .engine.sql import Statement, assigned
from .server_blocks import in_table

Severity = Literal["noop", "silence", "suspend"]

CHANGEABLE = "severity, reject_media, reject_reports, private_comment, public_comment, obfuscate"

# Against other acts on blocks: the states of accounts are computed from all blocks.
LOCK = "LOCK TABLE blocked_domains IN SHARE ROW EXCLUSIVE MODE"

UPDATE = Statement(f"UPDATE blocked_domains SET {assigned(CHANGEABLE)} WHERE id = :id")

# $2: the stamps of blocks of these domains, before and after the change.
SILENCED = "CASE WHEN silenced_at IS NULL OR silenced_at = ANY($2) THEN $3::timestamptz ELSE silenced_at END"
SUSPENDED = "CASE WHEN suspended_at IS NULL OR suspended_at = ANY($2) THEN $4::timestamptz ELSE suspended_at END"

MARK = f"""
    UPDATE accounts SET silenced_at = {SILENCED}, suspended_at = {SUSPENDED}, updated_at = $5
    WHERE domain = ANY($1::text[])
    AND (silenced_at IS DISTINCT FROM {SILENCED} OR suspended_at IS DISTINCT FROM {SUSPENDED})
    RETURNING id
"""


@in_table("blocked_domains", key="domain")
@dataclass(frozen=True, slots=True)
class BlockedDomain:
    """A domain that staff restrict, and its subdomains with it."""

    id: int
    domain: str
    severity: Severity
    reject_media: bool
    reject_reports: bool
    private_comment: str | None
    public_comment: str | None
    obfuscate: bool
    created_at: datetime


@in_table("allowed_domains", key="domain")
@dataclass(frozen=True, slots=True)
class AllowedDomain:
    """A domain that a server with limited federation deals with, and its subdomains with it."""

    id: int
    domain: str
    created_at: datetime


async def lock(db: Connection) -> list[BlockedDomain]:
    """Return all blocks. They stay so until the end of the transaction."""
    await db.execute(LOCK)
    return await server_blocks.find_all(db, BlockedDomain)


async def update(db: Connection, block: BlockedDomain) -> None:
    await db.execute(*UPDATE.bind(block))


async def mark(
    db: Connection, domains: Sequence[str], stamps: Sequence[datetime], block: BlockedDomain | None, now: datetime
) -> int:
    """Put all accounts of some domains in the state of a block, or take them out with None. Return how many changed.

    `stamps` are the times of all blocks of these domains, also of the block that has ended.
    """
    silenced = block.created_at if block is not None and block.severity == "silence" else None
    suspended = block.created_at if block is not None and block.severity == "suspend" else None
    return len(await db.fetch(MARK, list(domains), list(stamps), silenced, suspended, now))
