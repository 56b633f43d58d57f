"""Bursts: readers are never cut because the server had much to say at once; clients that read nothing are."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.broadcast.broadcast import home_address
from troupe.actors.broadcast.events import StatusAppeared
from troupe.actors.facts.statuses import StatusPublished
from troupe.actors.shown.statuses import ShownStatus, entry_of
from troupe.http.access.streams import Pump
from troupe.http.streaming import stream_writer
from troupe.http.streaming.session import StreamSession
from troupe.http.streaming.stream_writer import DirectStream

from ...clients import Person, Stage
from ...waiting import until
from .conftest import PATIENCE, Edge, open_deaf

READERS = 10
TEXT, PING, PONG = 0x81, 0x89, 0x8A
BURST = 200  # statuses, far more than `stream_queue`


@pytest.fixture
def options() -> dict[str, object]:
    return {"rate_limits": False, "stream_queue": 16}


@pytest.fixture
def kept() -> list[weakref.ref[StatusAppeared]]:
    """The events of all bursts, as long as anything holds on to them."""
    return []


@pytest.fixture
def burst(stage: Stage, ada: Person, kept: list[weakref.ref[StatusAppeared]]) -> Callable[..., Any]:
    """Tell Ada's home of many statuses at once, as a relay that has fallen behind does."""

    async def tell(count: int = BURST) -> list[str]:
        published = await ada.publish("x" * 500)
        shown = await stage.http_context.statuses.show(int(published["id"]))
        assert shown is not None
        ids = [stage.http_context.ids.next() for _ in range(count)]
        for id in ids:
            one = ShownStatus(replace(shown.status, id=id), shown.author)
            event = StatusAppeared(one)
            kept.append(weakref.ref(event))
            stage.http_context.runtime.tell_awake(home_address(ada.account.id), StatusPublished(entry_of(one), event))
        return [published["id"], *map(str, ids)]

    return tell


async def test_a_burst_reaches_every_reader_whole_and_in_order(edge: Edge, ada: Person, burst: Any) -> None:
    heard: dict[int, list[str]] = {}

    async def read(number: int, task_status: trio.TaskStatus[None]) -> None:
        async with edge.socket("?stream=user", ada.token) as socket:
            await socket.settle()
            task_status.started()
            heard[number] = [(await socket.hear())["payload"]["id"] for _ in range(BURST + 1)]

    async with trio.open_nursery() as nursery:
        for number in range(READERS):
            await nursery.start(read, number)
        told = await burst()
    assert heard == dict.fromkeys(range(READERS), told)


@pytest.mark.parametrize("path", ["/api/v1/streaming?stream=user", "/api/v1/streaming/user?"])
async def test_a_client_that_reads_nothing_is_cut_and_what_waited_for_it_is_forgotten(
    edge: Edge, stage: Stage, ada: Person, burst: Any, kept: Any, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """No other client waits for it, its connection is closed, and the operator is told."""
    monkeypatch.setattr(stream_writer, "UNREAD_SECONDS", 0.2)
    deaf = await open_deaf(edge, f"{path}&access_token={ada.token}", small=True)
    async with deaf, edge.socket("?stream=user", ada.token) as reader:
        await reader.settle()
        told = await burst()
        assert [(await reader.hear())["payload"]["id"] for _ in told] == told
        await until(lambda: len(stage.http_context.streams) == 1)
        gc.collect()
        assert [event for event in kept if event() is not None] == []
        assert await is_reset(deaf)  # so that the kernel keeps nothing for it either
    assert [facts["error"] for facts in stage.told("stream.cut")] == ["the client has read nothing for 0.2 s"]
    await edge.quiet()


async def test_nothing_is_done_for_a_client_that_does_not_read_while_others_are_sent_events(
    edge: Edge, stage: Stage, ada: Person, burst: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, served = f"/api/v1/streaming?stream=user&access_token={ada.token}", list[StreamSession]()
    send_now = StreamSession.send_now

    def note(session: StreamSession) -> None:
        served.append(session)
        send_now(session)

    async with await open_deaf(edge, target, small=True), edge.socket("?stream=user", ada.token) as reader:
        await reader.settle()
        for _ in await burst(60):
            await reader.hear()
        monkeypatch.setattr(StreamSession, "send_now", note)
        for _ in range(3):
            post = await ada.publish("x" * 500)
            assert (await reader.hear())["payload"]["id"] == post["id"]
        monkeypatch.undo()
    assert (len(set(served)), len(served)) == (1, 3), "each event is one call, for the one who reads"


async def test_a_client_that_sends_commands_and_reads_no_answers_is_cut(edge: Edge, ada: Person) -> None:
    command = b'{"type":"subscribe","stream":"nonsense"}'
    masked = b"\x81" + bytes([0x80 | len(command)]) + bytes(4) + command
    async with await open_deaf(edge, f"/api/v1/streaming?access_token={ada.token}", small=True) as deaf:
        with suppress(trio.BrokenResourceError), trio.fail_after(PATIENCE):
            while True:
                await deaf.send_all(masked * 100)
        await edge.quiet()


async def is_reset(stream: trio.SocketStream) -> bool:
    """True if the server ended the connection without waiting for what it had sent to be read."""
    with trio.fail_after(PATIENCE):
        try:
            while await stream.receive_some():
                pass
        except trio.BrokenResourceError:
            return True
    return False


async def test_a_pong_is_never_written_into_a_message(edge: Edge, ada: Person, burst: Any) -> None:
    """The client takes a part of a message, asks if the server is alive, and reads on."""
    target = f"/api/v1/streaming?stream=user&access_token={ada.token}"
    async with await open_deaf(edge, target, small=True) as slow:
        told = await burst(40)
        await wait_all_tasks_blocked(0.01)
        for _ in range(3):
            await slow.send_all(b"\x89\x80" + bytes(4))
            await wait_all_tasks_blocked(0.01)
        kinds: list[int] = []
        heard: list[str] = []
        received = b""
        with trio.fail_after(PATIENCE):
            while len(heard) < len(told) or kinds.count(PONG) < 3:
                received += await slow.receive_some()
                while (frame := whole_frame(received)) is not None:
                    kind, payload, received = frame
                    kinds.append(kind)
                    if kind == TEXT:
                        heard.append(json.loads(json.loads(payload)["payload"])["id"])
    assert heard == told
    assert set(kinds) <= {TEXT, PING, PONG}


class Sender:
    """A stream that has something to send this many times."""

    def __init__(self, pump: Pump, times: int, sent: list[str], name: str) -> None:
        self.pump, self.times, self.sent, self.name = pump, times, sent, name

    def send_now(self) -> None:
        self.times -= 1
        self.sent.append(self.name)
        if self.times:
            self.pump.add(self)


async def test_streams_send_at_once_and_in_turn_while_the_pump_does_not_run() -> None:
    pump, sent = Pump(), list[str]()
    pump.add(Sender(pump, 2, sent, "before"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pump.run)
        await wait_all_tasks_blocked()
        pump.add(Sender(pump, 2, sent, "one"))
        pump.add(Sender(pump, 2, sent, "other"))
        assert sent == ["before"] * 2
        nursery.cancel_scope.cancel()  # what was added is sent to the end
    pump.add(Sender(pump, 2, sent, "after"))
    assert sent == ["before"] * 2 + ["one", "other"] * 2 + ["after"] * 2


@pytest.mark.parametrize("path", ["/api/v1/streaming?stream=user", "/api/v1/streaming/user?"])
async def test_a_stream_has_no_task(edge: Edge, ada: Person, path: str) -> None:
    def tasks() -> int:
        return trio.lowlevel.current_statistics().tasks_living

    before = tasks()
    streams = [await open_deaf(edge, f"{path}&access_token={ada.token}") for _ in range(5)]
    await until(lambda: tasks() <= before)
    await ada.publish("hello")
    for stream in streams:
        with trio.fail_after(PATIENCE):
            while b"hello" not in await stream.receive_some():
                pass
        await trio.aclose_forcefully(stream)
    await edge.quiet()


async def test_a_connection_that_fails_ends_alone(
    edge: Edge, stage: Stage, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task that sends to all clients goes on."""
    async with edge.socket("?stream=user", ada.token) as broken, edge.socket("?stream=user", ada.token) as sound:
        await broken.settle()
        await sound.settle()
        send_now, failures = DirectStream.send_now, [OSError("of the network")]

        def fail_once(stream: DirectStream, frames: list[bytes]) -> None:
            if failures:
                raise failures.pop()
            send_now(stream, frames)

        monkeypatch.setattr(DirectStream, "send_now", fail_once)
        post = await ada.publish("hello")
        assert await broken.closing() == 1013
        assert (await sound.hear())["payload"]["id"] == post["id"]
    assert [facts["error"] for facts in stage.told("stream.cut")] == ["OSError: of the network"]


def whole_frame(received: bytes) -> tuple[int, bytes, bytes] | None:
    """The first frame's kind and payload, and what follows it. None while it is not complete."""
    if len(received) < 2:
        return None
    size, start = received[1], 2
    if size == 126:
        size, start = int.from_bytes(received[2:4]), 4
    if len(received) < start + size:
        return None
    return received[0], received[start : start + size], received[start + size :]
