"""Terminals in which servers start."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress

from .server import Server


@contextmanager
def a_terminal(server: Server) -> Generator[int]:
    kept, given = os.openpty()
    server.terminal = os.ttyname(given)
    os.close(given)
    yield kept
    server.terminal = ""
    with suppress(OSError):
        os.close(kept)
