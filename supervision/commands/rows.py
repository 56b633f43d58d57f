"""One transaction from the command line, beside a running server or without one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

from ...actors.kernel.clock import SystemClock
from ...actors.kernel.ids import Ids
from ...storage.connect import transact_once
from ...storage.embedded import EmbeddedFailed, embedded
from ...storage.engine import Connection, StorageError
from ...storage.migrate import Migration, MigrationRefused, upgrade
from ..configuration import Settings
from .options import NoDatabase, Refused

T = TypeVar("T")

# The server makes ids in lane 0. Commands share lane 1 and take turns, so that no two of them make the same.
LANE = 1
TURN = "SELECT pg_advisory_xact_lock(7461003)"


def transact(settings: Settings, work: Callable[..., Awaitable[T]], *args: object) -> T:
    """`work(connection, *args, ids, now)` in one transaction, in a database that is up to date."""
    with _database(settings) as dsn:
        upgrade(dsn)
        return transact_once(dsn, _in_turn, work, *args)


def migrate(settings: Settings) -> list[Migration]:
    """Bring the schema up to date; the steps that were missing."""
    with _database(settings) as dsn:
        return upgrade(dsn)


async def _in_turn(db: Connection, work: Callable[..., Awaitable[T]], *args: object) -> T:
    await db.execute(TURN)
    clock = SystemClock()
    return await work(db, *args, Ids(clock, LANE), clock.now())


@contextmanager
def _database(settings: Settings) -> Generator[str]:
    """The address of the database: the outer one, or the embedded one, started if it does not run."""
    try:
        if settings.database_url:
            yield settings.database_url.get_secret_value()
        else:
            with embedded(settings.data) as server:
                yield server.dsn
    except MigrationRefused as error:
        raise Refused(f"{error}.") from None
    except (StorageError, EmbeddedFailed, OSError) as error:
        raise NoDatabase(f"The database can't be reached: {error}") from None
