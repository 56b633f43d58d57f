"""asyncpg's errors of single statements, for the functions of storage that catch them."""

from __future__ import annotations

from asyncpg import (  # pyright: ignore[reportMissingTypeStubs]  # asyncpg has none
    QueryCanceledError,
    UniqueViolationError,
)

__all__ = ["QueryCanceledError", "UniqueViolationError"]
