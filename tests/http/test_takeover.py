"""A server that another one asks to finish its requests, because it takes over."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import trio

from troupe.actors.configuration import Settings
from troupe.supervision.children import http_server
from troupe.supervision.children.http_server import HttpServer
from troupe.supervision.system.listeners import Listeners

from ..clients import Stage
from ..end_to_end.server import free_port
from .serving import PATIENCE, say

ASK = b"GET /api/v1/instance HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


async def test_a_server_that_is_not_taken_over_from_serves_again(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "TAKEN_OVER_WITHIN", 0.2)
    settings = Settings(data=tmp_path, host="127.0.0.1", port=free_port())
    actors: Any = SimpleNamespace(cut_streams=list)
    database, listeners = cast("Any", SimpleNamespace(predecessor="")), Listeners(settings)
    server, stopping = HttpServer(settings, stage.http_context, actors, database, listeners, None), trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run, stopping)
        listeners.hand_over()
        assert await server.drain()
        with trio.fail_after(PATIENCE):  # the client waits in the queue of the listening socket
            assert (await say(settings.port, ASK)).startswith(b"HTTP/1.1 200")
        stopping.set()
