"""The node's term, which decides which process may write to a database.

The number in the table `node` is the fence: every connection of a node carries its term in `application_name`, and
checks the number before its first use. A node that takes over raises the number and closes the connections of earlier
terms, so that their open transactions can't commit. The advisory lock only shows that a node is alive. It is lost with
its connection; a node whose PostgreSQL was restarted takes it again under its old term.

The schema is migrated in between: after every other node is shut out, before the first use.

The nodes of a cluster hold one term together. The first node begins it as a server does that is alone, and then keeps
the lock as a shared one, which the next nodes can take too. So a server that is alone and a cluster shut each other
out. Which rows a node may write is another matter (`shards.py`).
"""

# Not strict: asyncpg and trio-asyncio, around which this module is an adapter, have no complete types.
# pyright: standard

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import asyncpg
import trio
import trio_asyncio

from . import lock_waits, trouble
from .cluster import is_own
from .connect import UNAVAILABLE, connect, run
from .database import Connection, EngineConnection, Fenced, lone_exception
from .fitness import require_fit
from .migrate import Migration, migrate, missing
from .node import Node, parse, shares, this_node
from .notices import CHANNEL
from .shards import UNOWNED, Epochs, free_all, take_all

# Advisory locks with numbers: 7461001 is the term, 7461002 migrations, 7461003 the ids of commands, 7461004 acts on
# owners, 7461005 the files of texts, 7461006 with a second number is a shard (`shards.py`). Pairs of accounts and URIs
# have hashes.
LOCK = 7461001
TERM_NAME = "troupe/term="
MIGRATING_NAME = "troupe/migrate"
#: The connection of a command that copies the database to another place. No takeover ends it.
COPYING_NAME = "troupe/copy"
PROBE_NAME = "troupe/probe"
TAKE_LOCK = "SELECT pg_try_advisory_lock($1)"
SHARE_LOCK = "SELECT pg_try_advisory_lock_shared($1)"
RELEASE_LOCK = "SELECT pg_advisory_unlock($1)"
READ_TERM = "SELECT term FROM node"
HAS_TERM = "SELECT to_regclass('node') IS NOT NULL"
RAISE_TERM = "UPDATE node SET term = term + 1 RETURNING term"

# The name of the connection that holds the lock, if the user of this connection may read it.
HOLDER = """
    SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a USING (pid)
    WHERE l.locktype = 'advisory' AND l.granted AND l.pid <> pg_backend_pid()
    AND l.database = a.datid AND a.datname = current_database()
    AND l.classid = 0 AND l.objid::bigint = $1 AND l.objsubid = 1
"""

# The node of the later term: it holds the lock already, or is about to take it.
SUCCESSOR = """
    SELECT a.application_name FROM pg_stat_activity a
    LEFT JOIN pg_locks l ON l.pid = a.pid AND l.locktype = 'advisory' AND l.granted
        AND l.classid = 0 AND l.objid::bigint = $1 AND l.objsubid = 1
    WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
    AND a.application_name LIKE ANY('{troupe/lease%,troupe/migrate%}')
    AND (l.pid IS NOT NULL OR a.application_name <> $2)
    ORDER BY l.pid IS NULL, a.backend_start DESC LIMIT 1
"""

# Waits until each connection is gone, because a connection that is committing stays for a moment.
END_OTHERS = """
    SELECT count(*) FILTER (WHERE NOT pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND (
        application_name LIKE ANY('{troupe/term=%,troupe/node=%}')
        OR ($2 AND application_name LIKE ANY('{troupe/lease%,troupe/migrate%}'))
    )
    AND application_name <> $1
"""

# Seconds between attempts to get the lease back.
BACK_OFF = 0.5

#: Seconds that a migration may take: it may rewrite a big table.
MIGRATION_DEADLINE = 3600

# Attempts to get the lock from a node that keeps taking it back, or that ended a moment ago.
ATTEMPTS = 20


# A node does not change the schema under the nodes that run.
NODES_OF_BEFORE = (
    "nodes of an earlier version run on this database, which lacks migration {number}: stop all nodes, and start this"
    " one first"
)


class AnotherNode(Exception):
    """Raised when another process serves this database."""


@dataclass(eq=False)
class Term:
    """The term that this process holds until another node takes over."""

    number: int
    #: Set when the term is lost: this process must exit.
    lost: trio.Event = field(default_factory=trio.Event)
    # The reason, when it was lost.
    reason: Fenced | None = None
    # The node from which this node took over.
    predecessor: Node | None = None
    # The shards that a server owns which is alone.
    epochs: Epochs = UNOWNED
    #: True for a node of a cluster that is not the first: other nodes hold the term too.
    joined: bool = False
    # The name of the connection that holds the lock.
    lease_name: str = ""

    @property
    def application_name(self) -> str:
        return f"{TERM_NAME}{self.number}"

    async def check(self, db: Connection) -> None:
        """Raise Fenced if a later term has begun. The pool calls this on each new connection."""
        current = await db.fetchval(READ_TERM)
        if current != self.number:
            name = await db.fetchval(SUCCESSOR, LOCK, self.lease_name)
            raise Fenced(f"{_successor(name)} (term {current} after {self.number})")


Requirement = Callable[[Connection], Awaitable[None]]


@asynccontextmanager
async def hold_term(
    dsn: str,
    *,
    node: str = "main",
    takeover: bool = False,
    shared: bool = False,
    on_notice: Callable[[str | None], None] | None = None,
    on_migrated: Callable[[Migration], None] = lambda step: None,
    require: Requirement | None = None,
) -> AsyncGenerator[Term]:
    """Begin a new term, migrate the schema, take all shards for `node`, and hold the term.

    With `shared` this process is a node of a cluster. It takes no shards here, and joins the term of the other nodes,
    if there are any. Raises AnotherNode when another server holds the database, unless `takeover`, and MigrationRefused
    for a schema of another version. `require` may refuse the database too. Until then nothing is changed.

    `on_notice` is called with the messages of other programs (see `notices`), and with None when some may be lost.
    """
    with lone_exception():
        async with trio_asyncio.open_loop(), trio.open_nursery() as nursery:
            name = this_node().lease_name(shared=shared)
            lease = _Lease(dsn, name, on_notice, on_migrated, require, node, shared)
            term = await trio_asyncio.aio_as_trio(lease.begin)(takeover)
            nursery.start_soon(trio_asyncio.aio_as_trio(lease.keep), term)
            try:
                yield term
            finally:
                lease.over = True
                lease.connection.terminate()  # also if `keep` has not begun
                nursery.cancel_scope.cancel()


def upgrade(dsn: str, on_applied: Callable[[Migration], None] = lambda step: None) -> list[Migration]:
    """Migrate the schema while no node runs. Not for use in a running event loop.

    It begins a term if there is something to do: a node of another version that has lost its connections for a moment
    must not go on afterwards.
    """
    applied: list[Migration] = []

    def note(step: Migration) -> None:
        applied.append(step)
        on_applied(step)

    async def main() -> None:
        await _Lease(dsn, MIGRATING_NAME, on_migrated=note).begin_to_migrate()

    run(main)
    return applied


async def begin_alone(db: Connection) -> None:
    """Take the database for a connection with the name `COPYING_NAME`: until it ends, no server begins a term.

    Raises AnotherNode if a server runs, and MigrationRefused for a database that is not in use or of a newer version.
    """
    await missing(db)
    other = await db.fetchval(HOLDER, LOCK)
    if not await db.fetchval(TAKE_LOCK, LOCK):
        raise AnotherNode(_described(other))
    # A server that has lost its connections for a moment must not go on afterwards.
    if await db.fetchval(HAS_TERM):
        await db.fetchval(RAISE_TERM)
        await db.fetchval(END_OTHERS, "", False)


@dataclass(eq=False)
class _Lease:
    """The connection that holds the lock and listens, on the asyncio side."""

    dsn: str
    name: str
    on_notice: Callable[[str | None], None] | None = None
    on_migrated: Callable[[Migration], None] = lambda step: None
    require: Requirement | None = None
    node: str | None = None  # that takes all shards
    shared: bool = False  # for a node of a cluster
    connection: EngineConnection = field(init=False)
    # Set and cancelled, both: asyncio may lose a cancellation that arrives when the awaited call ends.
    over: bool = False

    async def begin(self, takeover: bool) -> Term:
        """Begin a term and migrate the schema."""
        async with self._opened():
            await self._require_fit()
            await missing(self.connection)  # refuses a newer schema before anything is changed
            if self.require is not None:
                await self.require(self.connection)
            if not self.shared:
                return await self._begin(takeover)
            if not await self._is_first():
                return await self._join()
            term = await self._begin(False, locked=True)
            await self._share()
            return term

    async def begin_to_migrate(self) -> None:
        """Begin a term, migrate, and end the term, if there is something to migrate."""
        async with self._opened():
            await self._require_fit()
            if await missing(self.connection):
                await self._begin(False)
        await self.connection.close()

    async def _require_fit(self) -> None:
        """Raise UnfitDatabase for an external PostgreSQL that Troupe can't work with."""
        if not is_own(self.dsn):
            await require_fit(self.connection, partial(connect, self.dsn, application_name=PROBE_NAME))

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator[None]:
        """Open the connection; an error closes it. Errors of PostgreSQL become Unavailable."""
        with trouble.connecting(self.dsn):
            await self._connect()
        try:
            with trouble.unavailable(self.dsn):
                yield
        except BaseException:
            self.connection.terminate()
            raise

    async def _begin(self, takeover: bool, *, locked: bool = False) -> Term:
        other: str | None = await self.connection.fetchval(HOLDER, LOCK)
        locked = locked or await self._lock()
        if not locked and not takeover:
            raise AnotherNode(_described(other))
        # Before the other connections are ended, so that their nodes can't connect again. A database without tables has
        # no term yet.
        number = await self._raise_term() if await self.connection.fetchval(HAS_TERM) else 0
        for _ in range(ATTEMPTS):
            left = await self.connection.fetchval(END_OTHERS, f"{TERM_NAME}{number}", takeover)
            locked = locked or await self._lock()
            if locked and not left:
                break
            await asyncio.sleep(BACK_OFF / 5)
        else:
            raise AnotherNode(f"{_described(other)}. It does not release the database: stop it first")
        await self._migrate()
        term = Term(number or await self._raise_term(), predecessor=parse(other), lease_name=self.name)
        if self.node is not None:
            async with lock_waits.report_blocker(self.dsn, self.connection), self.connection.transaction():
                if self.shared:
                    await free_all(self.connection)
                else:
                    term.epochs = await take_all(self.connection, self.node)
        await term.check(self.connection)
        return term

    async def _is_first(self) -> bool:
        """Take the lock as the first node of a cluster, or share it with the nodes that run.

        Return if this is the first one. Waits while another first node begins. Raises AnotherNode if a server holds the
        database alone.
        """
        tries = 0
        while not await self._take(TAKE_LOCK):
            if await self._take(SHARE_LOCK):
                return False
            other = await self.connection.fetchval(HOLDER, LOCK)
            tries += not shares(other)  # it may have ended meanwhile
            if tries == ATTEMPTS or (other is not None and not shares(other)):
                raise AnotherNode(_described(other, to_node=True))
            await asyncio.sleep(BACK_OFF / 5)
        return True

    async def _join(self) -> Term:
        """Join the term of the other nodes."""
        if lacking := await missing(self.connection):
            raise AnotherNode(NODES_OF_BEFORE.format(number=lacking[0].number))
        return Term(await self.connection.fetchval(READ_TERM), joined=True, lease_name=self.name)

    async def _share(self) -> None:
        """Let other nodes hold the term too."""
        await self._take(SHARE_LOCK)
        await self.connection.fetchval(RELEASE_LOCK, LOCK)

    async def _raise_term(self) -> int:
        return await self.connection.fetchval(RAISE_TERM)

    async def _migrate(self) -> None:
        """Apply missing migrations, on a connection with a longer timeout."""
        if not await missing(self.connection):
            return
        connection = await connect(self.dsn, application_name=MIGRATING_NAME, deadline=MIGRATION_DEADLINE)
        try:
            async with lock_waits.report_blocker(self.dsn, connection):
                await migrate(connection, on_applied=self.on_migrated)
            await connection.close()
        except BaseException:
            connection.terminate()  # without waiting for PostgreSQL, which may have failed
            raise

    async def keep(self, term: Term) -> None:
        """Hold the lease. After a lost connection get it back, unless a later term has begun."""
        try:
            while not self.over:
                await self._closed()
                await self._resume(term)
                self._notice(None)
        except Fenced as fenced:
            term.reason = fenced
            term.lost.set()
        finally:
            self.connection.terminate()

    async def _resume(self, term: Term) -> None:
        while not self.over:
            await asyncio.sleep(BACK_OFF)
            try:
                await self._connect()
                await term.check(self.connection)
                # A session of this process, whose loss PostgreSQL has not noticed yet, may still hold the lock.
                if await self._take(SHARE_LOCK if self.shared else TAKE_LOCK):
                    return
                self.connection.terminate()
            except (*UNAVAILABLE, asyncpg.InterfaceError):
                continue

    async def _connect(self) -> None:
        self.connection = await connect(self.dsn, application_name=self.name)
        await self.connection.add_listener(CHANNEL, lambda *heard: self._notice(heard[-1]))

    async def _lock(self) -> bool:
        return await self._take(TAKE_LOCK)

    async def _take(self, lock: str) -> bool:
        return await self.connection.fetchval(lock, LOCK)

    async def _closed(self) -> None:
        closed = asyncio.get_running_loop().create_future()
        self.connection.add_termination_listener(lambda _: closed.done() or closed.set_result(None))
        if not self.connection.is_closed():
            await closed

    def _notice(self, payload: str | None) -> None:
        if self.on_notice is not None:
            self.on_notice(payload)


def _described(lease_name: str | None, *, to_node: bool = False) -> str:
    """Return an error text: the process that holds the database, and the remedy; `to_node` is for a cluster's node."""
    if lease_name == MIGRATING_NAME:
        return "`troupe migrate` is changing this database: wait until it is done"
    if lease_name == COPYING_NAME:
        return "`troupe db` is copying this database to another place: wait until it is done"
    node = parse(lease_name)
    which = f" ({node})" if node else ""
    if to_node:
        return f"a server without bus_url runs on this database{which}: stop it first, and start it with bus_url too"
    if shares(lease_name):
        return f"nodes of a cluster run on this database, such as {node}: stop them first, or join them with bus_url"
    return f"another server runs on this database{which}: stop it first; `troupe serve --takeover` takes its place"


def _successor(lease_name: str | None) -> str:
    """Return an error text: the program that shut this node out."""
    if lease_name == MIGRATING_NAME:
        return "`troupe migrate` has changed the database since this server lost its connections"
    node = parse(lease_name)
    return f"another server took over the database: {node}" if node else "another server took over the database"
