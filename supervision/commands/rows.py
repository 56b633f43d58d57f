"""One transaction from the command line, beside a running server or without one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Protocol, TypeVar, cast

from ...actors.kernel.clock import SystemClock
from ...actors.kernel.ids import LANES, Ids
from ...storage.engine.connect import LoneConnection, transact_once
from ...storage.engine.database import Connection, Unavailable
from ...storage.engine.embedded import embedded, exists
from ...storage.engine.migrate import Migration, migrations, missing, require_current
from ...storage.engine.term import upgrade
from ...storage.highest import highest_id
from ..configuration import Settings

T = TypeVar("T")

# Servers make ids in the lanes from 0 on. Commands share the last lane and take turns, so that no two of them make the
# same.
LANE = LANES - 1
TURN = "SELECT pg_advisory_xact_lock(7461003)"
ALL_TURNS = "SELECT pg_advisory_lock(7461003)"


class _TakenBack(Exception):
    """Raised at the end of a transaction to take it back."""

    def __init__(self, outcome: object) -> None:
        super().__init__()
        self.outcome = outcome


class Transact(Protocol):
    """Runs `work(connection, *args, ids, now)` in one transaction; with `dry_run`, all that it did is taken back."""

    def __call__(self, work: Callable[..., Awaitable[T]], *args: object, dry_run: bool = False) -> T: ...


def transact(settings: Settings, work: Callable[..., Awaitable[T]], *args: object, dry_run: bool = False) -> T:
    """Run `work(connection, *args, ids, now)` in one transaction. Refused if the schema is not up to date.

    With `dry_run` all that it did is taken back, and notices are not sent.
    """
    with transactions(settings) as run:
        return run(work, *args, dry_run=dry_run)


@contextmanager
def transactions(settings: Settings) -> Generator[Transact]:
    """Yield a function that runs transactions, for commands that need several."""
    with existing_database(settings) as dsn:

        def run(work: Callable[..., Awaitable[T]], *args: object, dry_run: bool = False) -> T:
            try:
                return transact_once(dsn, _in_turn, work, dry_run, *args)
            except _TakenBack as taken:
                return cast("T", taken.outcome)  # what this `work` returned

        yield run


def migrate(settings: Settings, on_applied: Callable[[Migration], None]) -> list[Migration]:
    """Migrate the schema and return the steps that were missing. Refused while a server of another version runs."""
    with opened_database(settings) as dsn:
        return upgrade(dsn, on_applied)


def plan(settings: Settings) -> list[Migration]:
    """Return the steps that the schema lacks, and change nothing. Raises MigrationRefused for a newer schema."""
    if not settings.database_url and not exists(settings.data):
        return migrations()
    with existing_database(settings) as dsn, LoneConnection(dsn) as session:
        return session(missing)


async def _in_turn(db: Connection, work: Callable[..., Awaitable[T]], dry_run: bool, *args: object) -> T:
    await db.execute(TURN)
    await require_current(db)  # after the wait: `troupe db move` may have moved it meanwhile
    clock = SystemClock()
    ids = Ids(clock, LANE)
    ids.witness(await highest_id(db))  # the clock of this machine may be behind
    outcome = await work(db, *args, ids, clock.now())
    if dry_run:
        raise _TakenBack(outcome)
    return outcome


@contextmanager
def existing_database(settings: Settings) -> Generator[str]:
    """The same as `opened_database`, for a database that exists already. Raises Unavailable if there is none."""
    if not settings.database_url and not exists(settings.data):
        raise Unavailable(
            f"there is none in {settings.data}: start the server or run `troupe migrate`, or correct --data"
        )
    with opened_database(settings) as dsn:
        yield dsn


@contextmanager
def opened_database(settings: Settings) -> Generator[str]:
    """Yield the address of the database: an external one, or the embedded one, which is started if it does not run."""
    if settings.database_url:
        yield settings.database_url.get_secret_value()
    else:
        with embedded(settings.data) as server:
            yield server.dsn
