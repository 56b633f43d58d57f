"""A transaction from the command line, beside a running server or without a server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from ...actors.configuration import Settings, StorageSettings
from ...storage.engine.connect import transact_once
from ...storage.engine.database import Connection, Unavailable
from ...storage.engine.embedded import embedded, exists
from ...storage.engine.migrate import require_current
from ...storage.upkeep.highest import highest_id
from ..settings.domain import base_url, domain_of

if TYPE_CHECKING:
    from ...actors.kernel.clock import Ids
    from ...actors.staff.acts import Staff, StaffAct

T = TypeVar("T")

# Servers make ids in the nodes from 0 on. Commands share the last node and take turns, so that no two of them make the
# same.
TURN = "SELECT pg_advisory_xact_lock(7461003)"
ALL_TURNS = "SELECT pg_advisory_lock(7461003)"


class Here:
    """The surroundings of a command's work in its transaction: the settings, ids for new rows, and the time."""

    def __init__(self, db: Connection, settings: Settings, ids: Ids, now: datetime) -> None:
        self._db = db
        self.settings = settings
        self.ids = ids
        self.now = now
        self._act: StaffAct | None = None

    @property
    def domain(self) -> str:
        """The domain of the server whose data the settings name."""
        return domain_of(self.settings)

    @property
    def staff(self) -> Staff:
        """The command line as a member of staff."""
        return self.act.staff

    @property
    def act(self) -> StaffAct:
        """The act of staff that the command is. Its effects are queued at the end of the transaction."""
        from ...actors.staff.acts import COMMAND_LINE, OwnServer, StaffAct

        if self._act is None:
            server = OwnServer(base_url(self.settings), self.settings.limited_federation)
            self._act = StaffAct(self._db, COMMAND_LINE, self.ids, self.now, server)
        return self._act

    async def end(self) -> None:
        """Queue the effects of the act, if the command is an act."""
        if self._act is not None:
            await self._act.write_promises()


class _TakenBack(Exception):
    """Raised at the end of a transaction to take it back."""

    def __init__(self, outcome: object) -> None:
        super().__init__()
        self.outcome = outcome


class Transact(Protocol):
    """Runs `work(connection, here, *args)` in a transaction; with `dry_run`, rolls it back."""

    def __call__(self, work: Callable[..., Awaitable[T]], *args: object, dry_run: bool = False) -> T: ...


@contextmanager
def transactions(settings: Settings) -> Generator[Transact]:
    """Yield a function that runs transactions. It refuses a schema that is not up to date."""
    with existing_database(settings) as dsn:

        def run(work: Callable[..., Awaitable[T]], *args: object, dry_run: bool = False) -> T:
            try:
                return transact_once(dsn, _in_turn, settings, work, dry_run, *args)
            except _TakenBack as taken:
                return cast("T", taken.outcome)  # the result of this `work`

        yield run


async def _in_turn(
    db: Connection, settings: Settings, work: Callable[..., Awaitable[T]], dry_run: bool, *args: object
) -> T:
    # Only here: commands that need no ids, such as `troupe backup`, start without the kernel.
    from ...actors.kernel.clock import NODES, Ids, SystemClock

    await db.execute(TURN)
    await require_current(db)  # after the wait: `troupe db move` may have moved it meanwhile
    clock = SystemClock()
    ids = Ids(clock, NODES - 1)
    ids.witness(await highest_id(db))  # the clock of this machine may be behind
    here = Here(db, settings, ids, clock.now())
    outcome = await work(db, here, *args)
    await here.end()
    if dry_run:
        raise _TakenBack(outcome)
    return outcome


@contextmanager
def existing_database(settings: Settings) -> Generator[str]:
    """Yield the address of a database that exists already. Raises Unavailable if it does not."""
    if not settings.database_url and not exists(settings.data):
        raise Unavailable(
            f"there is none in {settings.data}: start the server or run `troupe migrate`, or correct --data"
        )
    with opened_database(settings) as dsn:
        yield dsn


@contextmanager
def opened_database(settings: StorageSettings) -> Generator[str]:
    """Yield the address of the database. The embedded database is started if it does not run."""
    if settings.database_url:
        yield settings.database_url.get_secret_value()
    else:
        with embedded(settings.data) as server:
            yield server.dsn
