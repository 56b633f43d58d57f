"""What clients send over WebSockets: wsproto reads the same, and refuses the same."""

from __future__ import annotations

import random
from typing import Any

import pytest
from wsproto.frame_protocol import CloseReason, FrameProtocol, ParseFailed, XorMaskerSimple
from wsproto.frame_protocol import Opcode as Kind

from troupe.http.streaming.client_frames import ClientFrames, Opcode, WrongFrame

LARGEST = 2**20
SEEDS = 2_000
TEXTS = (b"", b"x", "zażółć".encode(), b"y" * 125, b"y" * 126, b"z" * 0xFFFF, b"z" * 0x10000, b"\xff", b"\xc3")
ENDS = (b"", b"\x03\xe8", b"\x03\xe8bye", b"\x03", b"\x03\xed", b"\x03\xed1", b"\x0f\xa0", b"\x03\xe8\xff", b"\x07\xd0")

# Frames, and a code if they are refused.
Heard = tuple[list[tuple[int, bytes]], CloseReason | None]


def frame(first: int, payload: bytes, *, masked: int = 0x80, size: bytes | None = None, mask: bytes = b"mask") -> bytes:
    """A frame of a client; `size` is a length in another form than the right one."""
    length = len(payload)
    if size is None:
        if length <= 125:
            size = bytes([length])
        else:
            size = b"\x7e" + length.to_bytes(2) if length <= 0xFFFF else b"\x7f" + length.to_bytes(8)
    body = XorMaskerSimple(mask).process(bytearray(payload)) if masked else payload
    return bytes([first, size[0] | masked]) + size[1:] + (mask if masked else b"") + body


def heard(pieces: list[bytes], largest: int = LARGEST) -> Heard:
    reader, found = ClientFrames(largest), list[tuple[int, bytes]]()
    try:
        for piece in pieces:
            for one in reader.receive(piece):
                found.append((one.opcode, one.payload))
                if one.opcode is Opcode.CLOSE:
                    return found, None  # what follows is not read
    except WrongFrame as wrong:
        return found, wrong.code
    return found, None


def judged(pieces: list[bytes]) -> Heard:
    """The same, by wsproto, which hands messages over in parts."""
    reader, found, begun = FrameProtocol(client=False, extensions=[]), list[tuple[int, bytes]](), b""
    try:
        for piece in pieces:
            reader.receive_bytes(piece)
            for one in reader.received_frames():
                payload: Any = one.payload  # texts are str, and a close has its code apart
                if one.opcode is Kind.CLOSE:
                    code, reason = payload
                    found.append((one.opcode, b"" if code == 1005 else code.to_bytes(2) + (reason or "").encode()))
                    return found, None
                if one.opcode in (Kind.PING, Kind.PONG):
                    found.append((one.opcode, bytes(payload)))
                else:
                    begun += payload.encode() if isinstance(payload, str) else bytes(payload)
                    if one.message_finished:
                        found.append((one.opcode, begun))
                        begun = b""
    except ParseFailed as failed:
        return found, failed.code
    return found, None


def spoken(chance: random.Random) -> bytes:
    """Frames of one client: mostly as they should be."""
    said = b""
    for _ in range(chance.randint(1, 4)):
        match chance.randint(0, 5):
            case 0:
                said += frame(0x80 | chance.choice((Kind.PING, Kind.PONG)), chance.choice(TEXTS[:4]))
            case 1:
                said += frame(0x88, chance.choice(ENDS))
            case 2:
                said += frame(chance.choice((0x01, 0x02)), chance.choice(TEXTS[:7]))
                said += frame(0x89, b"between") * chance.randint(0, 1)
                said += frame(0x80, chance.choice(TEXTS[:7]))
            case 3:
                said += frame(chance.randint(0, 255), b"anything", masked=chance.choice((0, 0x80, 0x80)))
            case 4:
                size = chance.choice((b"\x7e\x00\x05", b"\x7f" + (5).to_bytes(8), b"\x7f" + (2**63 + 5).to_bytes(8)))
                said += frame(0x81, b"short", size=size)
            case _:
                said += frame(0x81, chance.choice(TEXTS), mask=chance.randbytes(4))
    return said


def test_wsproto_reads_the_same_and_refuses_the_same() -> None:
    accepted = refused = 0
    for seed in range(SEEDS):
        chance = random.Random(seed)
        said = spoken(chance)
        cut = sorted(chance.sample(range(len(said)), min(3, len(said))))
        pieces = [said[start:end] for start, end in zip([0, *cut], [*cut, len(said)], strict=True)]
        ours, theirs = heard(pieces), judged(pieces)
        # The text of a message is checked when it is complete, and by wsproto before.
        waits = ours[1] is None and theirs[1] is CloseReason.INVALID_FRAME_PAYLOAD_DATA
        assert waits or ours == theirs, (seed, said[:100])
        accepted += ours[1] is None
        refused += ours[1] is not None
    assert min(accepted, refused) > SEEDS / 5


@pytest.mark.parametrize("first", [0x01, 0x81])
def test_a_message_that_is_too_long_is_refused_before_it_has_arrived(first: int) -> None:
    begun = frame(0x01, b"x" * 100)
    assert heard([begun, frame(0x00, b"x" * 100)], 200) == ([], None)
    assert heard([begun, frame(0x80, b"x" * 100)], 200) == ([(Opcode.TEXT, b"x" * 200)], None)
    assert heard([begun, frame(0x00, b"x" * 101)[:4]], 200) == ([], CloseReason.MESSAGE_TOO_BIG)
    assert heard([frame(first, b"x" * 201)[:4]], 200) == ([], CloseReason.MESSAGE_TOO_BIG)


def test_it_does_not_matter_in_which_pieces_a_frame_comes() -> None:
    said = frame(0x81, b"x" * 300) + frame(0x89, b"are you there")
    assert heard([bytes([byte]) for byte in said]) == heard([said])
