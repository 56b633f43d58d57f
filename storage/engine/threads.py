"""Work that waits for the disk, in the middle of a transaction."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what a function returns in a thread. For storage functions, which run on the asyncio side."""
    return await asyncio.to_thread(work, *args, **kwargs)
