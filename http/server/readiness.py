"""Readiness: what keeps the server from doing its work, if anything does.

It is not ready while it starts and while it stops, without its database or with one that can only be read, on a full
disk, and without descriptors for further clients. Any client may ask, as often as it likes. So the result of one check
is used for all requests of a moment, and only one task waits for a database that does not answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import trio

from ...storage.engine.database import Connection, Database
from . import descriptors
from .shared_check import SharedCheck

# Seconds for which an answer of the database is good.
KEPT = 1.0
# Seconds that a request waits for the database.
PATIENCE = 1.0

Obstacle = Literal["starting", "stopping", "database", "read_only", "disk", "descriptors"]

# What each means, for people.
MEANINGS: dict[Obstacle, str] = {
    "starting": "the server starts",
    "stopping": "the server stops",
    "database": "the database does not answer",
    "read_only": "the database can only be read",
    "disk": "a disk is full",
    "descriptors": "there are no file descriptors for further clients",
}


class Readiness:
    """Looks when a request asks for it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._check = SharedCheck(self._obstacles, kept=KEPT, patience=PATIENCE)
        self.phase: Literal["starting", "serving", "stopping"] = "starting"
        # Called in a thread: true if a disk is full. Without one, no disk is looked at.
        self.is_disk_full: Callable[[], bool] | None = None

    async def obstacles(self) -> tuple[Obstacle, ...]:
        """Return what keeps the server from its work now, or did a moment ago; nothing if it is ready."""
        if self.phase != "serving":
            return (self.phase,)
        found = await self._check.found()
        return ("database",) if found is None else found

    async def run(self) -> None:
        """Look when it is wanted. Runs as long as the server serves."""
        await self._check.run()

    async def _obstacles(self) -> tuple[Obstacle, ...]:
        found: list[Obstacle] = []
        if (trouble := await self._trouble_of_database()) is not None:
            found.append(trouble)
        if self.is_disk_full is not None and await trio.to_thread.run_sync(self.is_disk_full):
            found.append("disk")
        if descriptors.are_used_up():
            found.append("descriptors")
        return tuple(found)

    async def _trouble_of_database(self) -> Literal["database", "read_only"] | None:
        try:
            read_only = await self._database.read(_is_read_only)
        except Exception:  # any error: the server goes on, and the storage room logs it
            return "database"
        return "read_only" if read_only else None


def explained(obstacles: tuple[Obstacle, ...]) -> str:
    """Return why the server is not ready, for people."""
    return f"Not ready: {'; '.join(MEANINGS[one] for one in obstacles)}"


async def _is_read_only(db: Connection) -> bool:
    """True for a standby, such as a primary after a failover, and for a database that staff have closed to writes."""
    return await db.fetchval("SELECT current_setting('transaction_read_only') = 'on'")
