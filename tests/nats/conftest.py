"""Virtual time for the tests with forged servers, which run in the process of the test."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock


def in_virtual_time(test: Callable[..., Awaitable[object]], **kwargs: Any) -> object:
    """`trio.run`, with a clock that jumps to the next deadline as soon as all tasks wait."""
    kwargs["clock"] = MockClock(autojump_threshold=0)
    return trio.run(test, **kwargs)


def pytest_itemcollected(item: pytest.Item) -> None:
    if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj) and "forged" in item.nodeid:
        item.add_marker(pytest.mark.trio(run=in_virtual_time))
