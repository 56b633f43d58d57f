"""Waiting for what a running server does a moment later. Each wait has an end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE = 30  # seconds: more than any of it takes
PAUSE = 0.02  # seconds

T = TypeVar("T")


def eventually(look: Callable[[], T]) -> T:
    """Return what a look finds, as soon as it finds something."""
    give_up_at = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < give_up_at, "it did not come"
        time.sleep(PAUSE)
    return found
