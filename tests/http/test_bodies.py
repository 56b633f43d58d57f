"""Large bodies over real sockets: taken as they are read, refused without being taken."""

import gzip
from pathlib import Path

import pytest
import trio

from troupe.http.intake import request as requests

from ..clients import Person, Stage
from .serving import request, say
from .uploading import part, picture

pytestmark = pytest.mark.usefixtures("both_ways")

MIB = 1024 * 1024
PIECE = b"\0" * MIB
PIECES = 60


def memory() -> int:
    """Bytes of this process that lie in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def form(data: bytes, more: int) -> tuple[bytes, bytes, int]:
    """The beginning and the end of a form with one file, and its length with so many bytes between."""
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.mp4"\r\n\r\n' + data
    end = b"\r\n--x--\r\n"
    return head, end, len(head) + more + len(end)


def head(token: str | None, length: int) -> bytes:
    authorization = [f"Authorization: Bearer {token}".encode()] if token else []
    return request(
        b"POST /api/v2/media", b"Content-Type: multipart/form-data; boundary=x",
        f"Content-Length: {length}".encode(), *authorization,
    )  # fmt: skip


async def test_an_upload_is_on_disk_and_not_in_memory(ada: Person, port: int) -> None:
    beginning, end, length = form(picture(), PIECES * MIB)
    before, most = memory(), 0
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(head(ada.token, length) + beginning)
        for _ in range(PIECES):
            await stream.send_all(PIECE)
            most = max(most, memory())
        await stream.send_all(end)
        answer = b"".join([chunk async for chunk in stream])
    assert b"File must be less than 16 MB" in answer
    assert most - before < 20 * MIB


async def test_a_refused_upload_is_answered_before_its_file_is_read(port: int) -> None:
    beginning, _, length = form(picture(), PIECES * MIB)
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        await stream.send_all(head("nobody's", length) + beginning + PIECE)
        answer = await stream.receive_some()
    assert answer.startswith(b"HTTP/1.1 401")
    assert b"connection: close" in answer.lower()


async def test_an_anonymous_file_is_not_read_to_look_for_a_token(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "LEFT_SECONDS", 0.2)
    beginning, _, length = form(picture(), PIECES * MIB)
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        await stream.send_all(head(None, length) + beginning)
        answer = await stream.receive_some()
    assert answer.startswith(b"HTTP/1.1 401")


async def test_a_token_may_come_with_a_small_file(stage: Stage, ada: Person) -> None:
    form = {"access_token": ada.token}
    answer = await stage.anybody().send("POST", "/api/v2/media", files={"file": part(picture())}, form=form)
    assert answer.status == 200


async def test_after_a_small_unread_body_the_connection_goes_on(port: int) -> None:
    headers = b"Host: localhost\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"
    post = b"POST /api/v2/nothing HTTP/1.1\r\n" + headers
    answer = await say(port, post + request(b"GET /api/v2/nothing"))
    assert answer.count(b"HTTP/1.1 404") == 2


async def test_a_client_that_leaves_in_the_middle_harms_no_other_client(ada: Person, port: int) -> None:
    beginning, _, length = form(picture(), PIECES * MIB)
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    await stream.send_all(head(ada.token, length) + beginning + PIECE)
    await stream.aclose()
    assert (await say(port, request(b"GET /api/v2/instance"))).startswith(b"HTTP/1.1 200")


async def test_one_of_two_lines_names_an_encoding(stage: Stage, ada: Person, both_ways: None, port: int) -> None:
    body = gzip.compress(b"status=x")
    lines = [b"Content-Encoding: gzip", b"Content-Encoding: identity"]
    more = (b"Content-Length: %d" % len(body), f"Authorization: Bearer {ada.token}".encode())
    for order in (lines, lines[::-1]):
        answer = await say(port, request(b"POST /api/v1/statuses", *order, *more) + body)
        assert answer.startswith(b"HTTP/1.1 415")
