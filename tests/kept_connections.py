"""Connections to PostgreSQL that outlive a test, and serve the next test with the same database.

A new connection starts a process of PostgreSQL, which reads its catalogues and plans each statement for the first time.
That took half of the CPU of a usual test of the HTTP room.
"""

# Not strict: asyncpg has no complete types.
# pyright: standard

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any, cast

import asyncpg

from troupe.storage.engine.connect import UNAVAILABLE, TypeCachingConnection, connect

Key = tuple[str, dict[str, Any]]


class CurrentLoop:
    """Stands for the asyncio loop that runs now. asyncpg keeps the loop it is given, and each test has its own."""

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **named: Any) -> Any:
            return getattr(asyncio.get_running_loop(), name)(*args, **named)

        setattr(self, name, call)  # made once
        return call

    def is_closed(self) -> bool:
        """True outside of a loop, where asyncpg asks before it complains about a connection that was left open."""
        return asyncio._get_running_loop() is None


class KeptConnection(TypeCachingConnection):
    """A connection that its keeper takes back when a test is over."""

    loan: Loan
    how: dict[str, Any]

    def terminate(self) -> None:
        # What a test ends itself is ended, and what it left in the middle of something too.
        busy = self.is_closed() or self.is_in_transaction() or self._cancellations
        if not self.loan.over or busy:
            self.end()
        else:
            self.detach()
            self.loan.keeper.keep(self)

    def end(self) -> None:
        """Terminate the connection."""
        super().terminate()

    @property
    def transport(self) -> Any:
        return self._transport

    def detach(self) -> None:
        """Leave the loop that runs."""
        loop, number = self.transport._loop, self.transport._sock_fd
        loop._remove_reader(number)
        loop._transports.pop(number, None)

    def attach(self) -> None:
        """Join the loop that runs."""
        loop, number = cast(Any, asyncio.get_running_loop()), self.transport._sock_fd
        self.transport._loop = loop
        loop._transports[number] = self.transport
        loop._add_reader(number, self.transport._read_ready)


class KeptConnections:
    """The idle connections of one PostgreSQL server."""

    def __init__(self) -> None:
        self._idle = defaultdict[str, list[KeptConnection]](list)  # by DSN

    def keep(self, connection: KeptConnection) -> None:
        """Keep a connection for the next test."""
        self._idle[connection.loan.dsn].append(connection)

    def take(self, dsn: str, how: dict[str, Any]) -> KeptConnection | None:
        """Return an idle connection that was opened in the same way."""
        for connection in self._idle[dsn]:
            if connection.how == how:
                self._idle[dsn].remove(connection)
                return connection
        return None

    def processes(self, dsn: str) -> list[int]:
        """The ids of the PostgreSQL processes of a database's idle connections."""
        return [connection.get_server_pid() for connection in self._idle[dsn]]

    async def end(self, dsn: str) -> None:
        """End the idle connections to a database."""
        for connection in self._idle.pop(dsn, []):
            connection.attach()
            connection.end()
        await asyncio.sleep(0)  # asyncio closes sockets in the next turn of the loop


class Loan:
    """The connections of one test to its database. They are kept if they are terminated when the test is over."""

    def __init__(self, keeper: KeptConnections, dsn: str) -> None:
        self.keeper = keeper
        self.dsn = dsn
        self.over = False

    async def connect(self, dsn: str, **how: Any) -> Any:
        """Open a connection as `storage.engine.connect` does, or take one that is kept."""
        if dsn != self.dsn:
            return await connect(dsn, **how)
        while (kept := self.keeper.take(dsn, how)) is not None:
            if await self._renewed(kept):
                return kept
        connection: Any = await connect(dsn, **how)
        connection.__class__ = KeptConnection  # the product names the class
        connection.loan, connection.how = self, how
        return connection

    async def _renewed(self, connection: KeptConnection) -> bool:
        """Make a kept connection as good as new, but for what PostgreSQL remembers of its catalogues; False if lost."""
        connection.attach()
        connection.loan = self
        try:
            await connection.reset()
        except (*UNAVAILABLE, asyncpg.InterfaceError):
            connection.end()
            return False
        return True
