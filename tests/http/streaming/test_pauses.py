"""Streams pause while their node of a cluster may have missed facts of other nodes, and lose nothing."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import trio
from trio.testing import wait_all_tasks_blocked
from trio_websocket import ConnectionRejected

from troupe.actors.broadcast.broadcast import account_address, home_address
from troupe.actors.broadcast.events import StatusAppeared
from troupe.actors.commands.blocks import Block
from troupe.actors.facts.statuses import StatusPublished
from troupe.actors.kernel import feed
from troupe.actors.kernel.cell import Cell
from troupe.actors.kernel.feed import CROWDED
from troupe.actors.shown.statuses import ShownStatus, entry_of
from troupe.http.streaming import sse
from troupe.storage.secrets import hash_of

from ... import plain_http
from ...clients import Person, Stage
from ..separating import SeparableOthers
from .conftest import PATIENCE, Edge, Socket, open_deaf

MANY = CROWDED + 20
ROOM = 16  # events that a client may be behind when it does not read

# Has so many statuses of Ada arrive at Bob's home, as facts of another node. Returns their ids.
Arrive = Callable[[int], list[str]]


@pytest.fixture
def options() -> dict[str, object]:
    return {"rate_limits": False, "stream_queue": ROOM}


@pytest.fixture
def other_nodes() -> SeparableOthers:
    return SeparableOthers()


@pytest.fixture
async def arrive(stage: Stage, ada: Person, follower: Person) -> Arrive:
    shown = await stage.http_context.statuses.show(int((await ada.publish("x" * 500))["id"]))
    assert shown is not None
    context = stage.http_context

    def one() -> str:
        status = ShownStatus(replace(shown.status, id=context.ids.next()), shown.author)
        message = StatusPublished(entry_of(status), StatusAppeared(status))
        context.runtime.tell_awake(home_address(follower.account.id), message)
        return str(status.status.id)

    return lambda count: [one() for _ in range(count)]


@asynccontextmanager
async def sent_by_hypercorn(edge: Edge, token: str | None) -> AsyncGenerator[trio.SocketStream]:
    """A stream of server-sent events over HTTP/1.0, which has no chunks: hypercorn keeps such a connection."""
    async with await trio.open_tcp_stream("127.0.0.1", edge.port) as stream:
        await stream.send_all(f"GET /api/v1/streaming/user?access_token={token} HTTP/1.0\r\n\r\n".encode())
        with trio.fail_after(PATIENCE):
            received = b""
            while b":)\n" not in received:
                received += await stream.receive_some()
        yield stream


async def ids_among(stream: trio.SocketStream, count: int) -> list[str]:
    """Return the ids of the next statuses of server-sent events."""
    received = b""
    with trio.fail_after(PATIENCE):
        while received.count(b"\n\n") < count:
            received += await stream.receive_some()
    lines = received.decode().splitlines()
    return [json.loads(line.removeprefix("data: "))["id"] for line in lines if line.startswith("data: ")]


async def ids_of(socket: Socket, count: int) -> list[str]:
    """Return the ids of the next statuses of a WebSocket."""
    return [(await socket.hear())["payload"]["id"] for _ in range(count)]


def sent(stage: Stage) -> int:
    """Return how many events were sent to all streams."""
    streams = stage.http_context.streams
    return streams.websockets.events + streams.server_sent.events


def home_of(stage: Stage, owner: Person) -> Cell:
    (cell,) = stage.http_context.runtime.awake_among([home_address(owner.account.id)])
    return cell


async def test_events_wait_for_the_end_of_a_pause_and_are_sent_once_and_in_order(
    edge: Edge, stage: Stage, follower: Person, other_nodes: SeparableOthers, arrive: Arrive
) -> None:
    async with (
        edge.socket("?stream=user", follower.token) as socket,
        edge.events("user", follower.token) as events,
        sent_by_hypercorn(edge, follower.token) as old,
    ):
        await socket.settle()
        assert await events.comment() == ")"
        before = sent(stage)
        for count in (3, MANY):  # a second pause is as the first
            other_nodes.separate()
            told = arrive(count)
            await wait_all_tasks_blocked(0.01)
            assert sent(stage) == before
            assert len(home_of(stage, follower).feed) == 3, "no one was cut"
            other_nodes.rejoin()
            told += arrive(2)
            assert await ids_of(socket, len(told)) == told
            assert [json.loads((await events.hear())[1])["id"] for _ in told] == told
            assert await ids_among(old, len(told)) == told
            before = sent(stage)
            assert before % 3 == 1, "each event was sent once to each stream; the other frame is the answer in `settle`"
    await edge.quiet()
    assert stage.told("stream.cut") == []


async def test_pings_and_answers_to_commands_are_sent_during_a_pause(
    edge: Edge, follower: Person, other_nodes: SeparableOthers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_SECONDS", 0.02)
    async with edge.socket("?stream=user", follower.token) as socket, edge.events("user", follower.token) as events:
        await socket.settle()
        other_nodes.separate()
        await socket.settle()
        for _ in range(3):
            assert await events.comment() in (")", "thump")


async def test_what_a_block_hides_during_a_pause_is_not_sent_afterwards(
    edge: Edge, stage: Stage, ada: Person, follower: Person, other_nodes: SeparableOthers, arrive: Arrive
) -> None:
    async with edge.socket("?stream=user", follower.token) as socket:
        await socket.settle()
        other_nodes.separate()
        arrive(3)
        await stage.http_context.runtime.ask(account_address(follower.account.id), Block(ada.account.id))
        other_nodes.rejoin()
        own = await follower.publish()
        assert await ids_of(socket, 1) == [own["id"]]


async def test_nothing_waits_for_a_paused_stream(
    edge: Edge, stage: Stage, follower: Person, other_nodes: SeparableOthers, arrive: Arrive
) -> None:
    """A publisher waits for a stream that could read at once and is far behind: a paused stream could not read."""
    async with edge.socket("?stream=user", follower.token) as socket:
        await socket.settle()
        other_nodes.separate()
        told = arrive(MANY)
        await wait_all_tasks_blocked(0.01)
        home = home_of(stage, follower)
        assert not home.is_crowded
        other_nodes.is_complete = True  # the stream has not been woken yet
        assert home.is_crowded
        other_nodes.rejoin()
        assert await ids_of(socket, len(told)) == told


@pytest.mark.parametrize("reads_in_time", [True, False])
async def test_a_client_that_is_behind_because_of_a_pause_has_time_to_read(
    edge: Edge, stage: Stage, follower: Person, other_nodes: SeparableOthers, arrive: Arrive,
    monkeypatch: pytest.MonkeyPatch, reads_in_time: bool,
) -> None:  # fmt: skip
    """Further events find it far behind, and its socket full."""
    monkeypatch.setattr(feed, "HELD", ROOM)
    path = f"/api/v1/streaming/user?access_token={follower.token}"
    async with await open_deaf(edge, path, small=True) as client:
        subscribers = home_of(stage, follower).feed
        other_nodes.separate()
        told = arrive(MANY)
        await wait_all_tasks_blocked(0.01)
        other_nodes.rejoin()
        for count in (1,) if reads_in_time else (MANY, 1):
            await wait_all_tasks_blocked(0.01)
            told += arrive(count)
        await wait_all_tasks_blocked(0.01)
        assert len(subscribers) == reads_in_time
        if reads_in_time:
            assert await ids_among(client, len(told)) == told
            # From now on it has as much room as any client.
            arrive(MANY)
            await wait_all_tasks_blocked(0.01)
            arrive(1)
            await wait_all_tasks_blocked(0.01)
            assert len(subscribers) == 0


@pytest.mark.parametrize("path", ["user", "public", "user/notification", "nonsense"])
async def test_new_connections_are_refused(
    edge: Edge, stage: Stage, follower: Person, other_nodes: SeparableOthers, path: str
) -> None:
    other_nodes.separate()
    headers = {"Authorization": f"Bearer {follower.token}"}
    async with plain_http.async_client(base_url=edge.url, timeout=PATIENCE) as client:
        for method in ("GET", "HEAD"):
            answer = await client.request(method, f"/api/v1/streaming/{path}", headers=headers)
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    with pytest.raises(ConnectionRejected) as refused:
        async with edge.socket(f"?stream={path.replace('/', ':')}", follower.token):
            raise AssertionError("the handshake was accepted")
    assert refused.value.status_code == 503
    await edge.quiet()


async def test_a_new_stream_of_an_open_connection_waits_with_the_others(
    edge: Edge, stage: Stage, follower: Person, other_nodes: SeparableOthers, arrive: Arrive
) -> None:
    """Also a stream that resumes: what it missed waits too."""
    async with edge.socket("?stream=user&since=now", follower.token) as first:
        assert (await first.hear())["event"] == "resumed"
        since = first.id
    missed = await follower.publish("missed")
    async with edge.socket("", follower.token) as socket:
        other_nodes.separate()
        await socket.subscribe("user", since=since)
        told = arrive(2)
        await wait_all_tasks_blocked(0.01)
        other_nodes.rejoin()
        assert await ids_of(socket, 1) == [missed["id"]]
        assert (await socket.hear())["event"] == "resumed"
        assert await ids_of(socket, 2) == told


async def test_streams_of_tokens_that_were_revoked_by_lost_facts_are_closed(
    edge: Edge, stage: Stage, ada: Person, bob: Person, cyd: Person
) -> None:
    async with (
        edge.socket("?stream=user", ada.token) as valid,
        edge.socket("?stream=user", bob.token) as revoked,
        edge.socket("?stream=user", cyd.token) as disabled,
        edge.socket("?stream=public") as visitor,
    ):
        for socket in (valid, revoked, disabled, visitor):
            await socket.settle()
        await stage.sql("UPDATE access_tokens SET revoked_at = now() WHERE token_hash = $1", hash_of(str(bob.token)))
        await stage.sql("UPDATE users SET disabled_at = now() WHERE account_id = $1", cyd.account.id)
        await stage.http_context.recheck_streams()
        assert await revoked.closing() == await disabled.closing() == 1008
        await valid.settle()
        await visitor.settle()


async def test_a_server_that_stops_does_not_send_what_waits(
    edge: Edge, stage: Stage, follower: Person, other_nodes: SeparableOthers, arrive: Arrive
) -> None:
    async with edge.socket("?stream=user", follower.token) as socket:
        await socket.settle()
        before = sent(stage)
        other_nodes.separate()
        arrive(3)
        stage.http_context.streams.close_all()
        assert await socket.closing() == 1012
        assert sent(stage) == before
