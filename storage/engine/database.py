"""The interface to PostgreSQL for the rest of Troupe: a connection to run SQL on, and a database to run work in.

    StorageError            something between here and PostgreSQL failed
    ├── Unavailable         nothing was committed; HTTP answers 503 with Retry-After
    │   └── NotOwner           another node owns the shard of the transaction
    ├── Doubtful            the connection was lost inside COMMIT: the actor must reload from rows
    └── Fenced              another node holds the term: this process must exit
        └── Removed             this process is a node of the cluster no longer

Errors of the statements themselves (a unique violation, a failed check) are asyncpg's and reach the caller as they are
(`statement_errors.py`).
"""

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, Protocol, TypeGuard, TypeVar

Row = Mapping[str, Any]
#: A shard of accounts, and the epoch in which this process owns it (`shards.py`).
Entering = tuple[int, int]
P = ParamSpec("P")
T = TypeVar("T")


def replaced(row: Row, **values: Any) -> dict[str, Any]:
    """Return a row as a dict with these values in the place of its own."""
    return {**row, **values}


class StorageError(Exception):
    """Raised when the connection to PostgreSQL, or PostgreSQL itself, failed."""


class Unavailable(StorageError):
    """Raised when PostgreSQL can't do the work now. Nothing was committed."""


class NotOwner(Unavailable):
    """Raised when another node has taken the shard of a transaction (`shards.py`). Nothing was committed."""

    fault = "the table shards names another owner of accounts"


class Doubtful(StorageError):
    """Raised when the connection was lost during COMMIT: the transaction was committed or not."""


class Fenced(StorageError):
    """Raised when another node holds the term. This process must write no more."""


class Removed(Fenced):
    """Raised when this process is a node of the cluster no longer.

    The other nodes have removed it, or another process has joined under its name, or its part in the cluster has ended.
    """


class Connection(Protocol):
    """The methods of asyncpg's connection that storage functions may use."""

    async def fetch(self, query: str, *args: object) -> list[Any]: ...
    async def fetchrow(self, query: str, *args: object) -> Any: ...
    async def fetchval(self, query: str, *args: object) -> Any: ...
    async def execute(self, query: str, *args: object) -> str: ...


class OpenTransaction(Protocol):
    """The methods of asyncpg's transaction on a connection."""

    async def start(self) -> None: ...
    async def commit(self) -> None: ...
    async def rollback(self) -> None: ...
    async def __aenter__(self) -> object: ...
    async def __aexit__(self, *error: object) -> None: ...


class EngineConnection(Connection, Protocol):
    """A connection of asyncpg with the methods that only the engine uses, for its life and its transactions."""

    def transaction(self) -> OpenTransaction: ...
    def is_in_transaction(self) -> bool: ...
    def is_closed(self) -> bool: ...
    def get_server_pid(self) -> int: ...
    def get_settings(self) -> object: ...
    def add_termination_listener(self, callback: Callable[[object], object]) -> None: ...
    async def add_listener(self, channel: str, callback: Callable[..., object]) -> None: ...
    def terminate(self) -> None: ...
    async def close(self, *, timeout: float | None = None) -> None: ...


class Database(Protocol):
    """Runs storage functions, each call in a transaction or as a read."""

    async def transact(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work(connection, …)` in a transaction, up to three times after serialization failures or deadlocks.

        Raises Removed if this process is a node of a cluster that the other nodes have removed (`nodes.py`).
        """
        ...

    async def transact_in(
        self, shard: int, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work(connection, …)` in a transaction of the shard's owner. Raises NotOwner if another node owns it."""
        ...

    def entering(self, shard: int) -> Entering:
        """Return the shard and its epoch, for a statement that is a whole transaction of the owner."""
        ...

    async def transact_alone(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run work of one statement, which is a transaction by itself: one round trip, without BEGIN and COMMIT.

        A node of a cluster needs both, for the statement that finds its row (`transact`).
        """
        ...

    async def transact_checked(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run work of one statement, which checks by itself that this process may write: always one round trip.

        It enters a shard, or finds the row of its node.
        """
        ...

    async def read(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run work that only reads, without BEGIN and COMMIT."""
        ...


def is_group(error: BaseException) -> TypeGuard[BaseExceptionGroup[BaseException]]:
    """True for a group of exceptions. isinstance would leave the type of the exceptions in it open."""
    return isinstance(error, BaseExceptionGroup)


@contextmanager
def lone_exception() -> Generator[None]:
    """Take an exception out of the groups that nurseries wrap it in, so that callers can catch it by its class."""
    try:
        yield
    except BaseExceptionGroup as group:
        inner: BaseExceptionGroup[BaseException] = group
        while len(inner.exceptions) == 1:
            lone = inner.exceptions[0]
            if not is_group(lone):
                raise lone from lone.__cause__
            inner = lone
        raise inner from inner.__cause__
