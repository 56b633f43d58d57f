"""The needs of Troupe that not every external PostgreSQL meets, looked at before anything is changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from .database import Connection, EngineConnection, StorageError

OLDEST = 15  # NULLS NOT DISTINCT of unique indexes
FACTS = """
    SELECT current_setting('server_version_num')::integer AS version_number,
        current_setting('server_version') AS version,
        current_setting('transaction_read_only') = 'on' AS read_only,
        pg_encoding_to_char(encoding) AS encoding
    FROM pg_database WHERE datname = current_database()
"""
PROCESS = "SELECT pg_backend_pid()"
NO_SESSION = (
    "a connection pooler that shares connections between transactions is in front of PostgreSQL, and Troupe needs"
    " sessions, for locks and notices: let TROUPE_DATABASE_URL name PostgreSQL itself, or set pool_mode = session in"
    " the pooler"
)


class UnfitDatabase(StorageError):
    """Raised for a database that Troupe can't work with. Nothing was changed."""


async def require_fit(db: Connection, open_another: Callable[[], Awaitable[EngineConnection]]) -> None:
    """Raise UnfitDatabase with the cure. `open_another` opens another connection to the same address."""
    facts = await db.fetchrow(FACTS)
    if facts["version_number"] < OLDEST * 10_000:
        raise UnfitDatabase(f"PostgreSQL {facts['version']} is too old: upgrade it to {OLDEST} or newer")
    if facts["encoding"] != "UTF8":
        raise UnfitDatabase(
            f"its encoding is {facts['encoding']}, which lacks most characters: make a new one with"
            " `createdb --encoding UTF8 --template template0`, and name it in TROUPE_DATABASE_URL"
        )
    if facts["read_only"]:
        raise UnfitDatabase(
            "it can only be read: name the primary and no standby in TROUPE_DATABASE_URL, or turn"
            " default_transaction_read_only off"
        )
    if not await _has_session(db, await open_another()):
        raise UnfitDatabase(NO_SESSION)


async def _has_session(db: Connection, other: EngineConnection) -> bool:
    """True if a connection keeps its process of PostgreSQL while another connection is in a transaction."""
    try:
        process = await db.fetchval(PROCESS)
        await other.execute("BEGIN")
        taken = await other.fetchval(PROCESS)
        return taken != process and process == await db.fetchval(PROCESS)
    finally:
        other.terminate()
