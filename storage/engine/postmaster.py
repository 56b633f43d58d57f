"""The server process of PostgreSQL, as its clients see it."""

from datetime import datetime

from .database import Connection

STARTED_AT = "SELECT pg_postmaster_start_time()"


async def started_at(db: Connection) -> datetime:
    """Return when PostgreSQL was started. Another time on a new connection means that it was restarted."""
    return await db.fetchval(STARTED_AT)
