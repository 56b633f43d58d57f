"""Connections of asyncpg with Troupe's settings, and one transaction without a pool for short-lived programs."""

# Not strict: asyncpg and trio-asyncio, around which this module is an adapter, have no complete types.
# pyright: standard

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import ClassVar, Concatenate, ParamSpec, Self, TypeVar

import asyncpg
import orjson

from . import lock_waits, trouble
from .database import Connection, EngineConnection
from .urls import for_asyncpg

P = ParamSpec("P")
T = TypeVar("T")

#: Seconds to wait for PostgreSQL to take a connection.
CONNECT_TIMEOUT = 5

#: Every statement of storage/ stays prepared on every connection.
STATEMENTS = 512

# Seconds that a statement of a command may take.
LONGEST = 600.0

# Seconds that a statement of a backup may take, and its transaction may wait meanwhile: a week.
LONG = 7 * 86_400.0

# The binary form of jsonb is its text after one byte of version.
JSONB_VERSION = b"\x01"

# PostgreSQL's own types have lower numbers than this, equal on every server.
ASSIGNED_BY_SERVER = 10_000

# Errors that mean: the connection is gone, or PostgreSQL is stopping, starting, full, read-only or can't use its files.
# The work can be tried again later.
UNAVAILABLE = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresSystemError,
    asyncpg.QueryCanceledError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    OSError,
    TimeoutError,
)


class TypeCachingConnection(asyncpg.Connection):
    """A connection that asks PostgreSQL about a type of its own only if no other connection of the process has asked.

    asyncpg asks once for each array type on each connection. The recursive query takes longer than most statements.
    """

    _introspected: ClassVar[dict[tuple[int, ...], tuple[object, object]]] = {}

    async def _introspect_types(self, typeoids: Iterable[int], timeout: float | None) -> tuple[object, object]:
        oids = tuple(sorted(typeoids))
        if oids not in self._introspected:
            types = await super()._introspect_types(oids, timeout)
            if oids[-1] >= ASSIGNED_BY_SERVER:
                return types
            self._introspected[oids] = types
        return self._introspected[oids]


async def connect(
    dsn: str, *, application_name: str, deadline: float = 10.0, patience: float | None = None
) -> EngineConnection:
    """Open a connection, on the asyncio side. Times are in seconds.

    PostgreSQL ends a statement a second after `deadline`, when its caller has stopped waiting. After `patience`, a
    caller stops waiting for a PostgreSQL that does not end it.
    """
    connection = await asyncpg.connect(
        for_asyncpg(dsn),
        connection_class=TypeCachingConnection,
        timeout=CONNECT_TIMEOUT,
        command_timeout=patience,
        statement_cache_size=STATEMENTS,
        max_cached_statement_lifetime=0,
        server_settings={
            "application_name": application_name,
            "jit": "off",
            # Otherwise PostgreSQL plans most statements anew each time, which costs more than running them.
            "plan_cache_mode": "force_generic_plan",
            "timezone": "UTC",
            "statement_timeout": str(int((deadline + 1) * 1000)),
            "idle_in_transaction_session_timeout": str(int((deadline + 1) * 1000)),
            "tcp_keepalives_idle": "30",
            "tcp_keepalives_interval": "10",
            "tcp_keepalives_count": "3",
        },
    )
    # `enter_shard` and others look at rows after they have waited for a lock: each statement needs a snapshot of its
    # own, whatever the operator has set for the database. As a statement, because a pooler refuses settings that it
    # does not know at the start of a connection.
    await connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED")
    await connection.set_type_codec(
        "jsonb", schema="pg_catalog", format="binary", encoder=_encode_jsonb, decoder=_decode_jsonb
    )
    return connection


def transact_once(
    dsn: str,
    work: Callable[Concatenate[Connection, P], Awaitable[T]],
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Run a transaction on a connection of its own, for the command line. Not for use in a running event loop.

    Errors of PostgreSQL, also of the statements, become Unavailable.
    """

    async def transaction() -> T:
        with trouble.connecting(dsn):
            connection = await connect(dsn, application_name="troupe/command", deadline=LONGEST, patience=LONGEST + 5)
        with trouble.unavailable(dsn):
            async with lock_waits.report_blocker(dsn, connection):
                return await _in_transaction(connection, lambda: work(connection, *args, **kwargs))

    return run(transaction)


async def _in_transaction(connection: EngineConnection, work: Callable[[], Awaitable[T]]) -> T:
    """Run `work` in a transaction and close the connection, without waiting for a PostgreSQL that does not answer."""
    transaction = connection.transaction()
    try:
        await transaction.start()
        try:
            outcome = await work()
        except (asyncio.CancelledError, TimeoutError):
            # PostgreSQL rolls the transaction back when the connection ends. No ROLLBACK is sent, also after Ctrl-C: a
            # frozen PostgreSQL would not answer.
            connection.terminate()
            raise
        except Exception:
            await transaction.rollback()
            raise
        await transaction.commit()
    finally:
        with suppress(TimeoutError):
            await connection.close(timeout=CONNECT_TIMEOUT)
    return outcome


class LoneConnection:
    """A connection for a program without an event loop that does other work between two calls.

    Errors of PostgreSQL become Unavailable.
    """

    def __init__(self, dsn: str, application_name: str = "troupe/command") -> None:
        self._dsn = dsn
        self._loop = asyncio.SelectorEventLoop()
        try:
            with trouble.connecting(dsn):
                opening = connect(dsn, application_name=application_name, deadline=LONG)
                self._connection = self._loop.run_until_complete(opening)
        except BaseException:
            self._loop.close()
            raise

    def __call__(self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kw: P.kwargs) -> T:
        """Run `work(connection, …)`."""

        async def body() -> T:
            async with lock_waits.report_blocker(self._dsn, self._connection):
                return await work(self._connection, *args, **kw)

        task = self._loop.create_task(body())
        try:
            with trouble.unavailable(self._dsn):
                return self._loop.run_until_complete(task)
        finally:
            if not task.done():  # Ctrl-C: PostgreSQL is not waited for, and the session can't be used any more
                self._connection.terminate()
                task.cancel()
                self._loop.run_until_complete(asyncio.gather(task, return_exceptions=True))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.terminate()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()


def run(main: Callable[[], Awaitable[T]]) -> T:
    """Run asyncio code to its end on asyncio's own loop, also where trio-asyncio has replaced asyncio.run."""

    async def body() -> T:
        return await main()

    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        return runner.run(body())


def _encode_jsonb(value: object) -> bytes:
    return JSONB_VERSION + orjson.dumps(value)


def _decode_jsonb(data: bytes) -> object:
    return orjson.loads(data[1:])
