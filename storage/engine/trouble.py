"""The cause of a database error and the remedy for an operator, on a single line.

The texts never contain the password. For a URL that can't be read not even the parser's error is repeated, because it
quotes a part of the URL.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Generator
from contextlib import contextmanager

import asyncpg  # pyright: ignore[reportMissingTypeStubs]  # it has none

from .cluster import is_own
from .database import Unavailable
from .fitness import NO_SESSION
from .urls import is_whole

URL = "TROUPE_DATABASE_URL"

UNREADABLE = (
    f"{URL} can't be read: it looks like postgresql://user:password@host:5432/name, and in user and password each of"
    " / : @ # ? % is written as % and two hexadecimal digits"
)


UNKNOWN = f"leave it out of {URL}, which has it behind the question mark"


class SslRefused(ConnectionError):
    """A server without encryption, which sslmode asks for. asyncpg has no class for it."""


# The first class that fits counts, so subclasses come before their bases.
ADVICE: tuple[tuple[type[BaseException], str], ...] = (
    (asyncpg.InvalidAuthorizationSpecificationError, f"correct the user and the password in {URL}, or pg_hba.conf"),
    (asyncpg.DuplicatePreparedStatementError, NO_SESSION),
    (asyncpg.InvalidSQLStatementNameError, NO_SESSION),
    (asyncpg.ProtocolViolationError, NO_SESSION),  # poolers refuse the settings of a connection so
    (asyncpg.InvalidCatalogNameError, f"create it with `createdb`, or correct its name in {URL}"),
    (asyncpg.InsufficientPrivilegeError, "make the user of the connection the owner of the database and its tables"),
    (asyncpg.TooManyConnectionsError, "raise PostgreSQL's max_connections, or lower TROUPE_DATABASE_CONNECTIONS"),
    (asyncpg.DiskFullError, "free space on PostgreSQL's disk"),
    (asyncpg.ReadOnlySQLTransactionError, f"{URL} must name the primary and no standby"),
    (asyncpg.CannotConnectNowError, "try again in a moment"),
    (asyncpg.ClientConfigurationError, f"correct {URL}"),
    (socket.gaierror, f"correct the host's name in {URL}, or the name service"),
    (ssl.SSLError, f"correct sslmode and the certificates in {URL}"),
    (ConnectionRefusedError, f"start PostgreSQL, or correct host and port in {URL}"),
    (FileNotFoundError, f"start PostgreSQL, or correct the paths in {URL}"),
    (SslRefused, f"turn `ssl` on in PostgreSQL's configuration, or leave sslmode out of {URL}"),
    (TimeoutError, f"correct host and port in {URL}, or let the firewall pass the connection"),
    (OSError, f"correct host and port in {URL}, or repair the network"),
)


# The embedded PostgreSQL has no URL that could be wrong, and no network before it.
SILENT = (
    "its processes are stopped, wait for a disk, or get no CPU: `ps -C postgres -o pid,stat,args` shows T for stopped"
    " (`kill -CONT PID`) and D for a disk that hangs"
)
OWN_ADVICE: tuple[tuple[type[BaseException], str], ...] = (
    (TimeoutError, SILENT),
    (ConnectionRefusedError, "it has ended, or begins to run: try again in a moment, or look into its log"),
    (FileNotFoundError, "it has ended, or begins to run: try again in a moment, or look into its log"),
    (asyncpg.TooManyConnectionsError, "lower TROUPE_DATABASE_CONNECTIONS, or end other programs that use it"),
)


@contextmanager
def unavailable(dsn: str = "") -> Generator[None]:
    """Turn errors of PostgreSQL and of the network into Unavailable, with a text for an operator.

    The advice is for an external PostgreSQL, unless `dsn` is of the embedded PostgreSQL.
    """
    try:
        yield
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise Unavailable(explain(error, dsn)) from error


@contextmanager
def connecting(dsn: str) -> Generator[None]:
    """Turn errors into Unavailable, around the opening of a connection to `dsn`."""
    with unavailable(dsn):
        try:
            if not is_whole(dsn):
                raise ValueError
            yield
        except asyncpg.UndefinedObjectError as error:
            raise Unavailable(f"{_cause(error)}: {UNKNOWN}") from error
        except (ValueError, OverflowError) as error:  # the latter for a port above 65535
            if isinstance(error, asyncpg.InterfaceError):
                raise
            raise Unavailable(UNREADABLE) from None


def explain(error: BaseException, dsn: str = "") -> str:
    """Return the cause and the remedy, on a single line."""
    table = (*OWN_ADVICE, *ADVICE) if is_own(dsn) else ADVICE
    if isinstance(error, ConnectionError) and "rejected SSL upgrade" in str(error):
        error = SslRefused(str(error))
    advice = next((advice for kind, advice in table if isinstance(error, kind)), None)
    return f"{_cause(error)}: {advice}" if advice else _cause(error)


def _cause(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "PostgreSQL does not answer"
    text = str(error).strip().partition("\n")[0]
    if isinstance(error, OSError) and not isinstance(error, ConnectionRefusedError) and error.strerror:
        text = error.strerror
    return text or type(error).__name__
