"""A server without sockets beside a foreign one with sockets: the HTTP tests' stage, and `ForeignServer`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from troupe.http.views import resolving

from ..http.conftest import (
    ada,
    bob,
    connections,
    fast_path,
    media_store,
    other_nodes,
    stage,
    store_options,
    without_probe,
)
from .peer import ForeignServer, foreign_server

__all__ = [
    "ada",
    "bob",
    "connections",
    "fast_path",
    "media_store",
    "options",
    "other_nodes",
    "peer",
    "stage",
    "store_options",
    "without_probe",
]

HOSTS = ("peer.test", "other.test", "third.test", *(f"host{number}.peer.test" for number in range(8)))


@pytest.fixture
def options() -> dict[str, Any]:
    return {"rate_limits": False, "domain": "home.test", "test_hosts": HOSTS}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, let requests wait longer for what they look up at the foreign server."""
    monkeypatch.setattr(resolving, "PATIENCE", 60.0)
    monkeypatch.setattr(resolving, "MENTION_PATIENCE", 60.0)


@pytest.fixture
async def peer() -> AsyncIterator[ForeignServer]:
    async with foreign_server() as server:
        yield server
