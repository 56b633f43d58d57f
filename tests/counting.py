"""Connections that note what PostgreSQL is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from troupe.storage.engine import pool

ASKING = frozenset({"fetch", "fetchrow", "fetchval", "execute", "executemany"})


class Counting:
    """A connection that notes each statement that `counts` says is to be counted."""

    def __init__(self, connection: Any, asked: list[str], counts: Callable[[str], bool]) -> None:
        self._connection = connection
        self._asked = asked
        self._counts = counts

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._connection, name)
        return self._noting(method) if name in ASKING else method

    def _noting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def ask(query: str, *args: Any, **more: Any) -> Any:
            if self._counts(query):
                self._asked.append(query)
            return method(query, *args, **more)

        return ask


def note_statements(monkeypatch: pytest.MonkeyPatch, counts: Callable[[str], bool]) -> list[str]:
    """Return a list that gets the statements of every connection that is opened from now on."""
    asked: list[str] = []
    connect = vars(pool)["connect"]  # as the fixture `loan` may have replaced it

    async def counted(*args: Any, **more: Any) -> Any:
        return Counting(await connect(*args, **more), asked, counts)

    monkeypatch.setattr(pool, "connect", counted)
    return asked
