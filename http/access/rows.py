"""Rows that a request names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Concatenate, ParamSpec, TypeVar

from ...storage.engine.database import Connection
from ..answers.errors import NotFound
from .context import HttpContext

P = ParamSpec("P")
R = TypeVar("R")


async def find_row(
    context: HttpContext,
    query: Callable[Concatenate[Connection, P], Awaitable[R | None]],
    *args: P.args,
    **kwargs: P.kwargs,
) -> R:
    """Return what a query finds. Raises NotFound if it finds nothing."""
    found = await context.database.read(query, *args, **kwargs)
    if found is None:
        raise NotFound
    return found
