"""Readiness: the server can do its work if its database answers.

Any client may ask, as often as it likes. So the result of one query is used for all requests of a moment, and only one
task waits for a database that does not answer.
"""

from __future__ import annotations

import trio

from ...storage.engine.database import Connection, Database

# Seconds for which an answer of the database is good.
KEPT = 1.0
# Seconds that a request waits for the database.
PATIENCE = 1.0


class Readiness:
    """Checks the database when a request asks for it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._wanted = trio.Event()
        self._known = trio.Event()
        self._ready = False
        self._known_until = 0.0

    async def check(self) -> bool:
        """True if the database answers, or did a moment ago."""
        if trio.current_time() >= self._known_until:
            self._wanted.set()
            with trio.move_on_after(PATIENCE) as waiting:
                await self._known.wait()
            if waiting.cancelled_caught:
                return False
        return self._ready

    async def run(self) -> None:
        """Answer the checks. Runs as long as the server serves."""
        while True:
            await self._wanted.wait()
            self._ready = await self._ask()
            self._known_until = trio.current_time() + KEPT
            self._known.set()
            self._wanted, self._known = trio.Event(), trio.Event()

    async def _ask(self) -> bool:
        try:
            await self._database.read(_nothing)
        except Exception:  # any error: the server goes on, and the storage room logs it
            return False
        return True


async def _nothing(db: Connection) -> None:
    await db.fetchval("SELECT 1")
