"""Work that waits for the disk, in the middle of a transaction."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in a thread, and return its result. For storage functions, which run on the asyncio side."""
    return await asyncio.to_thread(work, *args, **kwargs)
