"""Facts that a PostgreSQL server states: version, settings, connections, its clock, and its start."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from .database import Connection

SETTINGS = "SELECT name, setting FROM pg_settings WHERE name = ANY($1)"
NAMES = (
    "fsync", "full_page_writes", "synchronous_commit", "TimeZone", "server_version", "server_version_num",
    "max_connections", "superuser_reserved_connections", "reserved_connections", "transaction_read_only",
    "in_hot_standby",
)  # fmt: skip

# Troupe's own connections are named by their application.
OTHERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND application_name NOT LIKE 'troupe%'
"""

DATABASE = """
    SELECT pg_encoding_to_char(encoding) AS encoding, pg_database_size(oid) AS size
    FROM pg_database WHERE datname = current_database()
"""

NOW = "SELECT clock_timestamp()"
STARTED_AT = "SELECT pg_postmaster_start_time()"


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """A server and this database of it. `reserved` connections are for superusers; `others` are other programs'."""

    version: str
    version_number: int
    max_connections: int
    reserved: int
    others: int
    encoding: str
    size: int  # bytes
    settings: Mapping[str, str]


async def server_facts(db: Connection) -> ServerFacts:
    """Return the facts, with the settings as this connection has them."""
    settings = {row["name"]: row["setting"] for row in await db.fetch(SETTINGS, NAMES)}
    (database,) = await db.fetch(DATABASE)
    return ServerFacts(
        version=settings["server_version"],
        version_number=int(settings["server_version_num"]),
        max_connections=int(settings["max_connections"]),
        # PostgreSQL 15 has only the first of these.
        reserved=int(settings["superuser_reserved_connections"]) + int(settings.get("reserved_connections", "0")),
        others=await db.fetchval(OTHERS),
        encoding=database["encoding"],
        size=database["size"],
        settings=settings,
    )


async def server_time(db: Connection) -> datetime:
    """Return the time that PostgreSQL's machine has."""
    return await db.fetchval(NOW)


async def started_at(db: Connection) -> datetime:
    """Return when PostgreSQL was started. Another time on a new connection means that it was restarted."""
    return await db.fetchval(STARTED_AT)
