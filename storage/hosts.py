"""What is known of other servers, by host."""

from datetime import datetime
from typing import Literal, TypeAlias

from .engine.database import Connection

SignatureScheme: TypeAlias = Literal["cavage", "rfc9421"]

SCHEME = "SELECT signature_scheme FROM hosts WHERE host = $1"

REMEMBER_SCHEME = """
    INSERT INTO hosts (host, signature_scheme, created_at) VALUES ($1, $2, $3)
    ON CONFLICT (host) DO UPDATE SET signature_scheme = excluded.signature_scheme
"""


async def scheme_of(db: Connection, host: str) -> SignatureScheme:
    """Return the kind of signature that a host reads, as far as it is known. Nearly all read `cavage`."""
    return await db.fetchval(SCHEME, host) or "cavage"


async def remember_scheme(db: Connection, host: str, scheme: SignatureScheme, now: datetime) -> None:
    """Remember the kind of signature that a host has read, after it could not read the other one."""
    await db.execute(REMEMBER_SCHEME, host, scheme, now)
