"""asyncpg's errors of single statements, for the functions that catch them. No fault of the machine: see `faults.py`.

They are not in `database.py`, which commands import that use no database: asyncpg takes 80 ms.
"""

from __future__ import annotations

from asyncpg import (  # pyright: ignore[reportMissingTypeStubs]  # asyncpg has none
    DataError,
    IntegrityConstraintViolationError,
    ProgramLimitExceededError,
    QueryCanceledError,
    UniqueViolationError,
)

__all__ = ["QueryCanceledError", "UniqueViolationError", "is_value_refused"]

# PostgreSQL raises the first three, also for values that asyncpg can't write. Encoders of JSON raise the others.
_OF_VALUES = (DataError, IntegrityConstraintViolationError, ProgramLimitExceededError, ValueError, TypeError)


def is_value_refused(error: BaseException) -> bool:
    """True if a value can't be stored, such as a text with a NUL. The same statement with other values can succeed."""
    return isinstance(error, _OF_VALUES)
