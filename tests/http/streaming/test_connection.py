"""What goes past the server below is what it would have sent: independent readers understand it at any length."""

import h11
import pytest
from wsproto.frame_protocol import FrameProtocol, Opcode

from troupe.http.streaming.connection import chunk, text_frame

# On both sides of every change of form.
SIZES = (0, 1, 125, 126, 127, 0xFFFF, 0x10000)


@pytest.mark.parametrize("size", SIZES)
def test_a_text_frame_is_read_as_one_whole_message(size: int) -> None:
    reader = FrameProtocol(client=True, extensions=[])
    reader.receive_bytes(text_frame(b"x" * size) + text_frame(b"next"))
    first, second = reader.received_frames()
    assert (first.opcode, first.payload, first.message_finished) == (Opcode.TEXT, "x" * size, True)
    assert second.payload == "next"


@pytest.mark.parametrize("size", SIZES[1:])
def test_a_chunk_is_read_as_a_piece_of_the_body(size: int) -> None:
    reader = h11.Connection(h11.CLIENT)
    reader.send(h11.Request(method="GET", target="/", headers=[("Host", "localhost")]))
    reader.receive_data(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(b"x" * size) + b"0\r\n\r\n")
    assert isinstance(reader.next_event(), h11.Response)
    body = b""
    while isinstance(event := reader.next_event(), h11.Data):
        body += event.data
    assert body == b"x" * size
    assert isinstance(event, h11.EndOfMessage)
