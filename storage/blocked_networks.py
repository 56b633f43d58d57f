"""Addresses and networks that staff keep out, or keep from signing up."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .engine.database import Connection
from .engine.sql import Statement
from .engine.statement_errors import UniqueViolationError
from .server_blocks import in_table, table_of

NetworkSeverity = Literal["sign_up_requires_approval", "sign_up_block", "no_access"]

UPDATE = Statement("""
    UPDATE blocked_networks
    SET network = :network::text::cidr, severity = :severity, comment = :comment, expires_at = :expires_at
    WHERE id = :id
""")


@in_table("blocked_networks", key="network", network="cidr")
@dataclass(frozen=True, slots=True)
class BlockedNetwork:
    """A network such as `192.0.2.0/24`, and what its clients are not allowed to do."""

    id: int
    network: str
    severity: NetworkSeverity
    comment: str
    created_at: datetime
    expires_at: datetime | None


# Two members of staff who change one block take turns.
LOCK = f"{table_of(BlockedNetwork).find} FOR UPDATE"


async def lock(db: Connection, id: int) -> BlockedNetwork | None:
    """Return a block, which stays so until the end of the transaction."""
    row = await db.fetchrow(LOCK, id)
    return None if row is None else BlockedNetwork(**row)


async def update(db: Connection, block: BlockedNetwork) -> bool:
    """Store a changed block. False if its network has another block: the transaction must be rolled back."""
    try:
        await db.execute(*UPDATE.bind(block))
    except UniqueViolationError:
        return False
    return True
