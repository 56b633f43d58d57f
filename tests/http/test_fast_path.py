"""Plain requests and others on one connection: who answers them, in which order, and how they end."""

from __future__ import annotations

import socket
from collections.abc import Awaitable
from typing import Any

import pytest
import trio

from troupe.http.answers.answer import Answer, FinishedAnswer, SharedHeaders
from troupe.http.answers.cached import CachedAnswers
from troupe.http.app import FastPath
from troupe.http.router import Endpoint, all_paths
from troupe.http.server import limits
from troupe.http.server.listener import bind, serve
from troupe.http.server.plain import FastRequests, PlainRequest

from ..clients import Person, Stage
from .serving import PATIENCE, request, rest, say, serving

pytestmark = pytest.mark.usefixtures("both_ways")

ASK = b"GET /api/v1/instance HTTP/1.1\r\nHost: localhost\r\n\r\n"
NOTHING = b"GET /api/v1/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"  # Quart's
LAST = request(b"GET /health")


async def test_answers_come_in_the_order_of_the_requests(port: int, ada: Person) -> None:
    """Those of the connection itself, of the application behind hypercorn, with bodies, and of Quart."""
    head = (
        b"POST /api/v1/statuses HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %b\r\n"
        % (ada.token or "").encode()
    )
    form = b"Content-Type: application/x-www-form-urlencoded\r\n"
    plain = head + form + b"Content-Length: 10\r\n\r\nstatus=one"
    chunked = head + form + b"Transfer-Encoding: chunked\r\n\r\na\r\nstatus=two\r\n0\r\n\r\n"
    text = ASK + plain + NOTHING + ASK + chunked + plain.replace(b"one", b"two") + ASK + NOTHING + LAST
    expected = [
        b"domain",
        b"<p>one</p>",
        b"Not Found",
        b"domain",
        b"<p>two</p>",
        b"<p>two</p>",
        b"domain",
        b"Not Found",
    ]
    for pieces in ([text], [text[:300], text[300:]], [ASK, plain + NOTHING, text[len(ASK + plain + NOTHING) :]]):
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        async with stream:
            for piece in pieces:
                await stream.send_all(piece)
                await trio.sleep(0.05)  # for the pieces to be read one by one; the answers do not depend on it
            bodies = [part.partition(b"\r\n\r\n")[2] for part in (await rest(stream)).split(b"HTTP/1.1 ")[1:]]
        assert len(bodies) == len(expected) + 1
        for body, wanted in zip(bodies, expected, strict=False):
            assert wanted in body


async def test_a_pipeline_lets_other_connections_in_between(stage: Stage) -> None:
    answered: list[str] = []

    def answer(plain: PlainRequest, client: str) -> Awaitable[bytes]:
        async def at_once() -> bytes:
            answered.append(plain.path)
            return b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"

        return at_once()

    def asks(path: bytes, count: int) -> bytes:
        return b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % path * count

    async with serving(stage, fast=FastRequests(answer)) as server:
        greedy, modest = (socket.create_connection(("127.0.0.1", server.port)) for _ in range(2))
        with greedy, modest:
            await trio.testing.wait_all_tasks_blocked(0.05)  # both are accepted
            greedy.sendall(asks(b"/greedy", 200))
            modest.sendall(asks(b"/modest", 1))
            with trio.fail_after(PATIENCE):
                while len(answered) < 201:
                    await trio.lowlevel.checkpoint()
    assert answered.index("/modest") < 100


async def test_half_a_head_after_an_answer_has_a_deadline_too(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "KEEP_ALIVE", 0.3)
    async with serving(stage) as server:
        stream = await server.connect()
        await stream.send_all(ASK)
        assert (await stream.receive_some()).startswith(b"HTTP/1.1 200")
        await stream.send_all(ASK[:20])
        await rest(stream)


async def test_what_hypercorn_has_begun_to_read_is_its_own(port: int) -> None:
    """The second piece would be a plain request. It is part of a header, or of a body."""
    length = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(ASK)
    for begun, status in (
        (b"GET /about HTTP/1.1\r\nHost: localhost\r\nX-One: ", b"400"),
        (b"POST /api/v1/apps HTTP/1.1\r\nHost: localhost\r\n" + length, b"400"),
        (b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\n" + length, b"404"),
    ):
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        async with stream:
            await stream.send_all(begun)
            await trio.testing.wait_all_tasks_blocked(0.05)
            await stream.send_all(ASK)
            if status != b"400" or b"POST" in begun:
                await stream.send_all(LAST)
            answers = (await rest(stream)).split(b"HTTP/1.1 ")[1:]
        assert answers[0].startswith(status)
        assert b"domain" not in b"".join(answers)


async def test_a_stopping_server_closes_connections_after_the_next_answer(stage: Stage) -> None:
    async with serving(stage) as server:
        stream = await server.connect()
        await stream.send_all(ASK)
        assert (await stream.receive_some()).startswith(b"HTTP/1.1 200")
        server.stopping.set()
        await trio.testing.wait_all_tasks_blocked(0.01)
        await stream.send_all(ASK)
        assert b"\r\nconnection: close\r\n" in await rest(stream)


@pytest.mark.parametrize("shared", [False, True])
async def test_connections_that_wait_at_a_stop_are_left_to_the_process_that_shares_them(
    stage: Stage, shared: bool
) -> None:
    (listener,) = bind([("127.0.0.1", 0)])
    stopping = trio.Event()
    stopping.set()
    with listener.dup() as kept, socket.create_connection(listener.getsockname(), PATIENCE) as client:
        client.sendall(ASK)
        await serve(stage.app, [listener], stopping, 1.0, release=lambda: not shared)
        if shared:
            kept.accept()[0].close()
        else:
            assert client.recv(12) == b"HTTP/1.1 200"
            with pytest.raises(BlockingIOError):
                kept.accept()


@pytest.mark.parametrize(
    "path", ["", "/", "/user", "/user/notification", "/public", "/public/local", "/hashtag", "/list"]
)
def test_no_endpoint_takes_the_place_of_a_stream(path: str) -> None:
    assert all_paths().find("GET", f"/api/v1/streaming{path}") is None


async def test_the_fast_path_answers_head_without_the_framework(stage: Stage) -> None:
    answer = FastPath(stage.http_context).answer(
        PlainRequest("HEAD", "/api/v1/instance", b"", ((b"host", b"localhost"),), b""), "127.0.0.1"
    )
    assert answer is not None
    head = await answer
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert head.endswith(b"GMT\r\n\r\n")


@pytest.mark.parametrize("behind", [b"", ASK])
async def test_a_client_that_leaves_ends_its_waiting(
    stage: Stage, fast_path: str, behind: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    # hypercorn sees that a client has left when it has read what is before it: there nothing is behind the request.
    sent = ASK + behind if fast_path == "on" else ASK
    begun, ended = trio.Event(), trio.Event()

    async def slow(*_: object) -> Any:
        begun.set()
        try:
            await trio.sleep_forever()
        finally:
            ended.set()

    monkeypatch.setattr(CachedAnswers, "get", slow)
    async with serving(stage) as server:
        stream = await server.connect()
        await stream.send_all(sent)
        with trio.fail_after(PATIENCE):
            await begun.wait()
            await stream.aclose()
            await ended.wait()


async def test_a_line_break_in_a_header_is_an_error_and_no_header(
    stage: Stage, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(*_: object) -> Answer:
        return Answer(b"{}", headers=(("Link", "<a>\r\nSet-Cookie: a=b"),))

    monkeypatch.setattr(Endpoint, "answer", answer)
    said = await say(port, ASK + LAST)
    assert said.startswith(b"HTTP/1.1 500"), said
    assert b"set-cookie" not in said.lower()
    assert [failure["decision"] for failure in stage.failures] == ["500", "500"]


def test_every_header_of_an_answer_is_checked_for_line_breaks() -> None:
    for name, value in (("A", "b\n"), ("A", "b\r"), ("A\r\nB", "c"), ("A", "\r\n")):
        with pytest.raises(ValueError, match="line break"):
            SharedHeaders(((name, value),))
        with pytest.raises(ValueError, match="line break"):
            FinishedAnswer(Answer(headers=((name, value),)), SharedHeaders(()))
        with pytest.raises(ValueError, match="line break"):
            FinishedAnswer(Answer(), SharedHeaders(()), (name, value))
    with pytest.raises(ValueError, match="line break"):
        FinishedAnswer(Answer(content_type="text/plain\r\nA: b"), SharedHeaders(())).http_1()
