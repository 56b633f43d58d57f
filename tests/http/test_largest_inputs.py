"""The largest requests, files and pages: what is done for them at once has a bound. Work is counted, not time."""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
import trio

from troupe.http.answers.answer import BYTES_AT_ONCE, in_steps
from troupe.http.answers.errors import Malformed
from troupe.http.intake import decoding, request
from troupe.http.intake.decoding import MOST_PARAMETERS, read_json
from troupe.http.intake.request import LARGE_FORM, LARGEST_BODY, Request
from troupe.http.server.stream_sockets import READ_AT_ONCE, READ_IN_A_TURN, StreamSocket, StreamSockets
from troupe.http.views import threads

from ..clients import Person, Stage
from ..waiting import turns_of_others

FULL = LARGEST_BODY // 4


@pytest.mark.parametrize("values", ["[]," * FULL, "{}," * FULL, "1," * FULL, '"",' * FULL, "[" * FULL, '[{"":' * FULL])
def test_a_body_with_too_many_values_is_refused_before_they_are_made(
    monkeypatch: pytest.MonkeyPatch, values: str
) -> None:
    monkeypatch.setattr(decoding, "orjson", None)
    with pytest.raises(Malformed, match="Too many parameters"):
        read_json(f'{{"id":[{values}0]}}'.encode())


@pytest.mark.parametrize("text", ["[{,", '\\"[,', "\\\\", '"', "\n,"])
def test_commas_and_brackets_in_texts_are_no_values(text: str) -> None:
    body = {"status": text * 4 * MOST_PARAMETERS, "id": ["[,"] * (MOST_PARAMETERS // 2)}
    assert read_json(orjson.dumps(body)) == body


@pytest.mark.parametrize(("size", "on_the_loop"), [(LARGE_FORM, True), (LARGE_FORM + 1, False)])
async def test_a_large_form_is_decoded_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, size: int, on_the_loop: bool
) -> None:
    threads_used: list[bool] = []

    def read(raw: bytes) -> Any:
        threads_used.append(threading.current_thread() is threading.main_thread())
        return decoding.read_form(raw)

    monkeypatch.setitem(request.READERS, "application/x-www-form-urlencoded", read)
    body = b"a=" + b"%41" * ((size - 2) // 3)
    body += b"+" * (size - len(body))

    async def chunks() -> AsyncIterator[bytes]:
        yield body

    headers = [(b"content-type", b"application/x-www-form-urlencoded")]
    tree = await Request("POST", "/", b"", headers, "127.0.0.1", chunks()).parameters()
    assert str(tree["a"]).rstrip() == "A" * ((size - 2) // 3)
    assert threads_used == [on_the_loop]


async def test_others_have_turns_while_a_large_page_is_rendered() -> None:
    async with turns_of_others() as turns:
        assert len(await in_steps(b"x" * 20_000 for _ in range(20))) == 20
        assert turns.number == 0  # an ordinary page needs none
        assert len(await in_steps(bytes(BYTES_AT_ONCE) for _ in range(10))) == 10
        assert turns.number >= 10


async def test_a_page_of_statuses_is_rendered_in_steps(
    stage: Stage, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("troupe.http.answers.answer.BYTES_AT_ONCE", 1)
    rounds = 0
    checkpoint = trio.lowlevel.checkpoint

    async def counted() -> None:
        nonlocal rounds
        rounds += 1
        await checkpoint()

    ids = [(await ada.publish(f"post {number}"))["id"] for number in range(4)]
    monkeypatch.setattr("troupe.http.answers.answer.trio.lowlevel.checkpoint", counted)
    for path in ("/api/v1/timelines/home", f"/api/v1/accounts/{ada.id}/statuses", "/api/v1/timelines/public"):
        rounds = 0
        answer = await ada.get(path)
        assert [one["id"] for one in answer.json] == ids[::-1]
        assert rounds >= len(ids), path


async def test_a_long_thread_is_read_in_parts(stage: Stage, ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "READ_AT_ONCE", 2)
    root = await ada.publish("root")
    replies = [(await ada.publish(f"reply {number}", in_reply_to_id=root["id"]))["id"] for number in range(5)]
    asked: list[int] = []
    show_many = stage.http_context.statuses.show_many

    async def counted(ids: Any) -> Any:
        wanted = list(ids)
        asked.append(len(wanted))
        return await show_many(wanted)

    monkeypatch.setattr(stage.http_context.statuses, "show_many", counted)
    thread = (await ada.get(f"/api/v1/statuses/{root['id']}/context")).json
    assert [one["id"] for one in thread["descendants"]] == replies
    assert max(asked) <= 2


class Owner:
    """What a stream's socket belongs to. It counts what it is given."""

    read = 0

    def begin(self, socket: StreamSocket) -> None: ...
    def progress(self) -> None: ...
    def lost(self) -> None: ...

    def look(self, now: float) -> float:
        return now + 1000

    def receive(self, data: bytes) -> None:
        self.read += len(data)


async def test_full_sockets_of_streams_take_turns_with_the_rest() -> None:
    """A read may be thousands of the smallest frames, and a hundred clients may send them."""
    sockets, owner = StreamSockets(), Owner()
    pairs = [socket.socketpair() for _ in range(16)]
    for ours, theirs in pairs:
        ours.setblocking(False)
        theirs.sendall(bytes(READ_AT_ONCE))
        sockets.add(StreamSocket(sockets, ours, owner, lambda: None))
    rounds = 0
    while owner.read < len(pairs) * READ_AT_ONCE:
        before, rounds = owner.read, rounds + 1
        sockets.serve_ready()
        assert 0 < owner.read - before < READ_IN_A_TURN + READ_AT_ONCE
    assert rounds == len(pairs) * READ_AT_ONCE // READ_IN_A_TURN
    for ours, theirs in pairs:
        ours.close()
        theirs.close()
