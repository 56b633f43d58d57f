"""Frames that no client should send: each ends its connection with the code that says why."""

import struct
import zlib
from functools import cache

import pytest
import trio

from troupe.http.server import limits

from ...clients import Person
from ..serving import rest
from .conftest import PATIENCE, Edge

MIB = 1024 * 1024
FIN, RSV1, RSV2, RSV3 = 0x80, 0x40, 0x20, 0x10
CONTINUATION, TEXT, BINARY, CLOSE, PING = 0, 1, 2, 8, 9
MASKED = 0x80

PROTOCOL_ERROR, TOO_BIG = 1002, 1009


def frame(first: int, payload: bytes = b"", *, masked: bool = True) -> bytes:
    """A client's frame, with a mask that changes nothing."""
    mask, size = (MASKED, bytes(4)) if masked else (0, b""), len(payload)
    if size < 126:
        length = bytes([mask[0] | size])
    elif size < 0x10000:
        length = struct.pack("!BH", mask[0] | 126, size)
    else:
        length = struct.pack("!BQ", mask[0] | 127, size)
    return bytes([first]) + length + mask[1] + payload


@cache
def bomb(size: int) -> bytes:
    """A text of so many bytes as `permessage-deflate` sends it."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return (deflate.compress(b" " * size) + deflate.flush(zlib.Z_SYNC_FLUSH))[:-4]


async def shake_hands(edge: Edge, *headers: str) -> tuple[trio.SocketStream, bytes]:
    """An open WebSocket and the head of the answer that opened it."""
    stream = await trio.open_tcp_stream("127.0.0.1", edge.port)
    lines = (
        "GET /api/v1/streaming?stream=public HTTP/1.1", "Host: localhost", "Connection: Upgrade", "Upgrade: websocket",
        "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", *headers, "", "",
    )  # fmt: skip
    await stream.send_all("\r\n".join(lines).encode())
    head = b""
    with trio.fail_after(PATIENCE):
        while not head.endswith(b"\r\n\r\n"):
            head += await stream.receive_some(1)
    assert head.startswith(b"HTTP/1.1 101")
    return stream, head


async def closing_code(stream: trio.SocketStream) -> int:
    """The code of the close frame with which the server's last words end."""
    words = await rest(stream)
    while words[:1] == b"\x89":  # pings
        words = words[2 + words[1] :]
    assert words[0] == FIN | CLOSE, words[:200]
    return int.from_bytes(words[2:4])


DEFLATE = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits"


async def test_no_extension_is_agreed_on(edge: Edge) -> None:
    stream, head = await shake_hands(edge, DEFLATE)
    await stream.aclose()
    assert b"extensions" not in head.lower()


@pytest.mark.parametrize("header", [(), (DEFLATE,)])
@pytest.mark.parametrize("first", [FIN | RSV1 | TEXT, RSV1 | TEXT, FIN | RSV1 | BINARY])
async def test_a_compressed_frame_is_a_protocol_error(edge: Edge, first: int, header: tuple[str, ...]) -> None:
    stream, _ = await shake_hands(edge, *header)
    await stream.send_all(frame(first, bomb(60 * MIB)))
    assert await closing_code(stream) == PROTOCOL_ERROR
    await edge.quiet()


async def test_the_client_hears_why_while_it_is_still_sending(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that closes at once resets the connection, and then some clients never see its last words."""
    monkeypatch.setattr(limits, "CLOSE", 10)  # seconds: on a busy machine sending takes longer than in other tests
    stream, _ = await shake_hands(edge)
    await stream.send_all(frame(FIN | RSV1 | TEXT, bytes(8 * MIB)))
    assert await closing_code(stream) == PROTOCOL_ERROR
    await stream.aclose()
    await edge.quiet()


@pytest.mark.parametrize(
    "wrong",
    [
        frame(FIN | RSV2 | TEXT, b"{}"), frame(FIN | RSV3 | TEXT, b"{}"), frame(FIN | RSV1 | PING),
        frame(FIN | TEXT, b"{}", masked=False), frame(FIN | CONTINUATION, b"{}"), frame(FIN | 3), frame(PING),
    ],
)  # fmt: skip
async def test_so_is_a_frame_that_cannot_be_read(edge: Edge, wrong: bytes) -> None:
    stream, _ = await shake_hands(edge)
    await stream.send_all(wrong)
    assert await closing_code(stream) == PROTOCOL_ERROR
    await edge.quiet()


@pytest.mark.parametrize("size", [1, 1000, 65_000])
async def test_the_fragments_of_a_message_count_together(edge: Edge, size: int) -> None:
    stream, _ = await shake_hands(edge)
    fragments = [frame(TEXT, b"x" * size), *([frame(CONTINUATION, b"x" * size)] * (200_000 // size))]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(send_until_closed, stream, fragments)
        assert await closing_code(stream) == TOO_BIG
    await edge.quiet()


async def send_until_closed(stream: trio.SocketStream, parts: list[bytes]) -> None:
    try:
        await stream.send_all(b"".join(parts))
    except trio.BrokenResourceError:
        return


async def test_a_message_in_fragments_is_understood(edge: Edge, ada: Person) -> None:
    stream, _ = await shake_hands(edge)
    await stream.send_all(frame(TEXT, b'{"type":"sub') + frame(FIN | PING) + frame(FIN | CONTINUATION, b'scribe"}'))
    heard = b""
    with trio.fail_after(PATIENCE):
        while b"Unknown stream type" not in heard:
            heard += await stream.receive_some()
    await stream.send_all(frame(FIN | CLOSE, (1000).to_bytes(2)))
    assert await closing_code(stream) == 1000
