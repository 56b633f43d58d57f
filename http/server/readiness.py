"""Whether the server can do its work: its database answers.

Anyone may ask, as often as they like. So one question to the database answers everybody for a moment, and a database
that does not answer is asked by one task only, not by one for each request.
"""

from __future__ import annotations

import trio

from ...storage.engine.database import Connection, Database

# Seconds for which an answer of the database is good.
KEPT = 1.0
# Seconds that a request waits for the database.
PATIENCE = 1.0


class Readiness:
    """Asks the database when somebody wants to know."""

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
        except Exception:  # whatever it is: the server serves on, and others report it
            return False
        return True


async def _nothing(db: Connection) -> None:
    await db.fetchval("SELECT 1")
