"""Waiting for what a running server does a moment later. Each wait has an end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE = 30  # seconds: more than any of it takes
# Seconds between two looks. A look costs the server and the tests CPU, and what did not come soon may take seconds.
SHORTEST, LONGEST = 0.02, 0.2

T = TypeVar("T")


def eventually(look: Callable[[], T]) -> T:
    """Return what a look finds, as soon as it finds something."""
    give_up_at, pause = time.monotonic() + PATIENCE, SHORTEST
    while not (found := look()):
        assert time.monotonic() < give_up_at, "it did not come"
        time.sleep(pause)
        pause = min(pause * 1.5, LONGEST)
    return found
