"""Virtual time for all tests of the kernel, and a running kernel (`acting.py`) for those that ask for one."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from .acting import Kernel, Listener, MakeKernel


def in_virtual_time(test: Callable[..., Awaitable[object]], **kwargs: Any) -> object:
    """`trio.run`, with a clock that jumps to the next deadline as soon as all tasks wait."""
    kwargs["clock"] = MockClock(autojump_threshold=0)
    return trio.run(test, **kwargs)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Nothing here may sleep in real time, so no test has to ask for the clock."""
    if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
        item.add_marker(pytest.mark.trio(run=in_virtual_time))


@pytest.fixture
def make_kernel(nursery: trio.Nursery) -> Iterator[MakeKernel]:
    """Makes running kernels with options of the test's own; time is virtual."""
    kernels: list[Kernel] = []

    async def make(**options: Any) -> Kernel:
        kernel = Kernel(**options)
        kernels.append(kernel)
        await nursery.start(kernel.pool.run, kernel.stopping)
        await nursery.start(kernel.runtime.run, kernel.stopping)
        return kernel

    yield make
    for kernel in kernels:
        kernel.stopping.set()


@pytest.fixture
async def kernel(make_kernel: MakeKernel) -> Kernel:
    return await make_kernel()


@pytest.fixture
def make_listener() -> Callable[..., Listener]:
    return Listener
