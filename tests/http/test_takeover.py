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
from troupe.supervision.control import DRAIN, RESUME, Answer, ControlSocket
from troupe.supervision.system.listeners import Listeners

from ..clients import Stage
from ..end_to_end.server import free_port
from .serving import PATIENCE, say

ASK = b"GET /api/v1/instance HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def listening(stage: Stage, data: Path) -> tuple[Settings, Listeners, HttpServer]:
    """Return a server on a port of its own, with its settings and its listeners."""
    settings = Settings(data=data, host="127.0.0.1", port=free_port())
    actors: Any = SimpleNamespace(cut_streams=list)
    database, listeners = cast("Any", SimpleNamespace(predecessor="")), Listeners(settings)
    return settings, listeners, HttpServer(settings, stage.http_context, actors, database, listeners, None)


async def test_a_server_serves_again_at_once_if_the_next_one_says_that_it_does_not_start(
    stage: Stage, tmp_path: Path
) -> None:
    settings, listeners, server = listening(stage, tmp_path)
    stopping = trio.Event()
    environment: dict[str, str] = {}
    answers: dict[str, Answer] = {DRAIN: server.drain, RESUME: server.resume}
    control = ControlSocket(settings.control_socket, answers, listeners.hand_over)
    following = Listeners(settings.model_copy(update={"takeover": True}))
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run, stopping)
        await nursery.start(control.run, stopping)
        for _ in range(2):
            await trio.to_thread.run_sync(following.inherit, environment)
            await trio.to_thread.run_sync(following.give_back)
            with trio.fail_after(PATIENCE):
                assert (await say(settings.port, ASK)).startswith(b"HTTP/1.1 200")
        stopping.set()


async def test_a_server_that_serves_again_already_still_drains_for_the_next_one(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, listeners, server = listening(stage, tmp_path)
    stopping = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run, stopping)
        listeners.hand_over()
        server.resume()  # of a server that has waited for the database for longer than TAKEN_OVER_WITHIN
        assert await server.drain()
        with trio.move_on_after(0.3) as waited:
            await say(settings.port, ASK)
        assert waited.cancelled_caught, "clients wait for the server that takes over"
        stopping.set()


async def test_a_server_that_is_not_taken_over_from_serves_again(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "TAKEN_OVER_WITHIN", 0.2)
    settings, listeners, server = listening(stage, tmp_path)
    stopping = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run, stopping)
        listeners.hand_over()
        assert await server.drain()
        with trio.fail_after(PATIENCE):  # the client waits in the queue of the listening socket
            assert (await say(settings.port, ASK)).startswith(b"HTTP/1.1 200")
        stopping.set()
