"""Faults of the machine: a full disk, no free descriptors, or PostgreSQL that accepts no work.

They are not the caller's fault, and the work succeeds when the cause is gone. So clients get 503 and try again later,
accepted uploads wait, and the supervision log names the cause.
"""

import errno
import os
from pathlib import Path

import asyncpg  # pyright: ignore[reportMissingTypeStubs]  # it has none

from .database import NotOwner, StorageError

DISK_FULL = "disk full"

_ERRNOS = {
    errno.ENOSPC: DISK_FULL,
    errno.EDQUOT: "disk quota used up",
    errno.EROFS: "read-only file system",
    errno.EMFILE: "too many open files",
    errno.ENFILE: "too many open files",
    errno.ENOMEM: "out of memory",
    errno.EAGAIN: "too many processes",
}

# The first that fits.
_OF_POSTGRESQL: tuple[tuple[type[Exception], str], ...] = (
    (asyncpg.DiskFullError, DISK_FULL),
    (asyncpg.TooManyConnectionsError, "too many connections"),
    (asyncpg.OutOfMemoryError, "PostgreSQL is out of memory"),
    (asyncpg.InsufficientResourcesError, "PostgreSQL is out of resources"),
    (asyncpg.ReadOnlySQLTransactionError, "PostgreSQL is read-only"),
    (asyncpg.CannotConnectNowError, "PostgreSQL is starting or stopping"),
    (asyncpg.AdminShutdownError, "PostgreSQL is stopping"),
    (asyncpg.CrashShutdownError, "PostgreSQL is restarting after a crash"),
    (asyncpg.QueryCanceledError, "a statement took too long"),
    (asyncpg.PostgresSystemError, "PostgreSQL can't read or write its files"),
    (asyncpg.InvalidAuthorizationSpecificationError, "PostgreSQL refuses the user or the password"),
    (asyncpg.InvalidCatalogNameError, "the database does not exist"),
    (asyncpg.PostgresConnectionError, "PostgreSQL can't be reached"),
)


class BucketFailed(OSError):
    """Raised when the store of media files can't be reached, or refuses. The text has its answer."""


class CallTooLong(TimeoutError):
    """The cause of a call that was ended at its deadline."""

    fault = "a call took too long"


class HeldUp(CallTooLong):
    """The cause of a call that was ended at its deadline while it waited for a lock. The text names the holder."""

    fault = "a lock of the database holds calls up"


def machine_fault(error: BaseException) -> str | None:
    """Return the cause of an error in a few words, fixed for each cause. None if it is no fault of the machine.

    For an error of storage, the cause is in the exceptions that led to it.
    """
    if isinstance(error, CallTooLong | NotOwner):
        return error.fault
    if isinstance(error, StorageError):
        causes = (machine_fault(inner) or _unreachable(inner) for inner in [error.__cause__] if inner is not None)
        return next(causes, None) or str(error) or type(error).__name__
    if isinstance(error, BucketFailed):
        return "the store of media files fails"
    for kind, cause in _OF_POSTGRESQL:
        if isinstance(error, kind):
            return cause
    return _ERRNOS.get(error.errno or 0) if isinstance(error, OSError) else None


def _unreachable(error: BaseException) -> str | None:
    """Return the cause of a failed or lost connection.

    asyncpg raises errors of the operating system for it, and an internal error for a statement on a closing connection.
    """
    lost = OSError | asyncpg.InterfaceError | asyncpg.InternalClientError
    return "PostgreSQL can't be reached" if isinstance(error, lost) else None


def full(path: Path) -> OSError:
    """Return the error of a write to a full disk, for a write that another process tried."""
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def free_bytes(path: Path) -> int:
    """Return the bytes that users other than root can still write to the file system of a path."""
    room = os.statvfs(path)
    return room.f_bavail * room.f_frsize
