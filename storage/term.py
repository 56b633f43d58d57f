"""The node's term: which of several processes on one database may write.

The number in the table `node` is the fence: every connection of a node carries its term in `application_name`, and
looks the number up before its first use. A node that takes over raises the number and ends the connections of the terms
before, so that nothing they still do can commit. The advisory lock only tells whether a node lives; it is lost with its
connection, and a node whose PostgreSQL was restarted takes it again under its old term.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import asyncpg
import trio
import trio_asyncio

from .connect import UNAVAILABLE, connect
from .engine import Connection, Fenced, Unavailable, lone_exception
from .notices import CHANNEL

LOCK = 7461001
LEASE_NAME = "troupe/lease"
TAKE_LOCK = "SELECT pg_try_advisory_lock($1)"
READ_TERM = "SELECT term FROM node"
RAISE_TERM = "UPDATE node SET term = term + 1 RETURNING term"

# Waits for each to be gone, because one that is still committing is not.
END_OTHERS = """
    SELECT count(*) FILTER (WHERE NOT pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND (application_name LIKE 'troupe/term=%' OR ($2 AND application_name = $3)) AND application_name <> $1
"""

#: Seconds between attempts to have the lease again.
BACK_OFF = 0.5

#: Attempts to get the lock away from a node that keeps coming back, or that has only just died.
ATTEMPTS = 20


class AnotherNode(Exception):
    """Another process serves this database."""


@dataclass(eq=False)
class Term:
    """The term this process holds, until another node takes over."""

    number: int
    #: Set when the term is lost: this process must exit.
    lost: trio.Event = field(default_factory=trio.Event)

    @property
    def application_name(self) -> str:
        return f"troupe/term={self.number}"

    async def check(self, db: Connection) -> None:
        """For the pool, on each new connection: raise Fenced when a later term has begun."""
        current = await db.fetchval(READ_TERM)
        if current != self.number:
            raise Fenced(f"term {self.number} is over: the term is {current}")


@asynccontextmanager
async def hold_term(
    dsn: str, *, takeover: bool = False, on_notice: Callable[[str | None], None] | None = None
) -> AsyncIterator[Term]:
    """Begin a new term and hold it; AnotherNode when somebody else does, unless `takeover`.

    `on_notice` hears what others announce (see `notices`), and None when some may have been missed.
    """
    with lone_exception():
        async with trio_asyncio.open_loop(), trio.open_nursery() as nursery:
            lease = _Lease(dsn, on_notice)
            term = await trio_asyncio.aio_as_trio(lease.begin)(takeover)
            nursery.start_soon(trio_asyncio.aio_as_trio(lease.keep), term)
            try:
                yield term
            finally:
                lease.over = True
                nursery.cancel_scope.cancel()


@dataclass(eq=False)
class _Lease:
    """The connection that holds the lock and listens, on the asyncio side."""

    dsn: str
    on_notice: Callable[[str | None], None] | None
    connection: Any = None
    #: Told as well as cancelled: asyncio may lose a cancellation that meets the end of what was awaited.
    over: bool = False

    async def begin(self, takeover: bool) -> Term:
        try:
            await self._connect()
            try:
                return await self._begin(takeover)
            except BaseException:
                self.connection.terminate()
                raise
        except UNAVAILABLE as error:
            raise Unavailable(f"PostgreSQL cannot be reached: {error}") from error

    async def _begin(self, takeover: bool) -> Term:
        if not takeover and not await self._lock():
            raise AnotherNode("another server runs on this database; stop it first, or start with takeover")
        term = Term(await self.connection.fetchval(RAISE_TERM))
        for _ in range(ATTEMPTS):
            left = await self.connection.fetchval(END_OTHERS, term.application_name, takeover, LEASE_NAME)
            if not left and (not takeover or await self._lock()):
                await term.check(cast(Connection, self.connection))
                return term
            await asyncio.sleep(BACK_OFF / 5)
        raise AnotherNode("the server on this database does not let go of it")

    async def keep(self, term: Term) -> None:
        """Hold the lease; after a lost connection have it again, unless a later term has begun."""
        try:
            while not self.over:
                await self._closed()
                await self._resume(term)
                self._notice(None)
        except Fenced:
            term.lost.set()
        finally:
            self.connection.terminate()

    async def _resume(self, term: Term) -> None:
        while not self.over:
            await asyncio.sleep(BACK_OFF)
            try:
                await self._connect()
                await term.check(cast(Connection, self.connection))
                # A session of ours that PostgreSQL has not yet missed may hold the lock still.
                if await self._lock():
                    return
                self.connection.terminate()
            except (*UNAVAILABLE, asyncpg.InterfaceError):
                continue

    async def _connect(self) -> None:
        self.connection = await connect(self.dsn, application_name=LEASE_NAME)
        await self.connection.add_listener(CHANNEL, lambda *heard: self._notice(heard[-1]))

    async def _lock(self) -> bool:
        return await self.connection.fetchval(TAKE_LOCK, LOCK)

    async def _closed(self) -> None:
        closed = asyncio.get_running_loop().create_future()
        self.connection.add_termination_listener(lambda _: closed.done() or closed.set_result(None))
        if not self.connection.is_closed():
            await closed

    def _notice(self, payload: str | None) -> None:
        if self.on_notice is not None:
            self.on_notice(payload)
