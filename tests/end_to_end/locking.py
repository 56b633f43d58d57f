"""A lock in the database of a running server that somebody holds."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.database import Connection

from .patience import PATIENCE
from .poisoning import database
from .server import Server


@contextmanager
def statuses_locked(server: Server) -> Generator[Callable[[], None]]:
    """The table is locked by a session that somebody has forgotten. It yields what ends the session before the end."""
    locked, over = Event(), Event()

    async def hold(db: Connection) -> None:
        await db.execute("LOCK TABLE statuses")
        locked.set()
        while not over.is_set():
            await db.execute("SELECT pg_sleep(0.05)")

    with ThreadPoolExecutor(1) as threads:
        threads.submit(transact_once, database(server), hold)
        assert locked.wait(PATIENCE)
        try:
            yield over.set
        finally:
            over.set()
