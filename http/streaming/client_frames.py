"""A strict parser of the frames of clients (RFC 6455, section 5).

Between two messages it holds only an empty buffer, so thousands of streams take little memory. wsproto's objects hold
several KiB; the tests compare this parser with wsproto.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from wsproto.frame_protocol import CloseReason

FINAL, RESERVED, OPCODE = 0x80, 0x70, 0x0F
MASKED, LENGTH = 0x80, 0x7F
TWO_BYTES = 126  # a length of two bytes follows; after 127, a length of eight bytes
LONGEST_CONTROL = 125
LARGEST_LENGTH = 2**63 - 1
MASK = 4  # bytes
# The codes of close frames: of the RFC and its registry, of libraries, and of applications.
CODES = (range(1000, 1004), range(1007, 1015), range(3000, 5000))


class Opcode(IntEnum):
    """The kind of a frame."""

    CONTINUATION = 0x0
    TEXT = 0x1
    BINARY = 0x2
    CLOSE = 0x8
    PING = 0x9
    PONG = 0xA


CONTROL = frozenset({Opcode.CLOSE, Opcode.PING, Opcode.PONG})
KNOWN = frozenset(Opcode)


class ClientFrame(NamedTuple):
    """A whole message, or a control frame. The payload of TEXT is valid UTF-8; CLOSE is empty or begins with a code."""

    opcode: Opcode
    payload: bytes


class WrongFrame(Exception):
    """Raised for a violation of the protocol. `code` is the close code."""

    def __init__(self, code: CloseReason) -> None:
        super().__init__(code.name)
        self.code = code


class ClientFrames:
    """Parses the frames of a client. `largest` is the size of the largest message, in bytes."""

    __slots__ = ("_begun", "_buffer", "_largest", "_message")

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._buffer = b""
        self._message = b""  # the fragments of an unfinished message
        self._begun: Opcode | None = None  # the opcode of an unfinished message

    def receive(self, data: bytes) -> Iterator[ClientFrame]:
        """Yield complete messages and control frames, and buffer the rest. Do not call it again after a WrongFrame."""
        self._buffer = self._buffer + data if self._buffer else data
        while (frame := self._next()) is not None:
            final, opcode, payload = frame
            if opcode in CONTROL:
                yield _control(opcode, payload)
            elif (message := self._joined(opcode, payload, final=final)) is not None:
                yield message

    def _next(self) -> tuple[bool, Opcode, bytes] | None:
        """Take the next frame from the buffer; None if it is incomplete. An invalid head raises WrongFrame at once."""
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        first, second = buffer[0], buffer[1]
        opcode, size = first & OPCODE, second & LENGTH
        if first & RESERVED or opcode not in KNOWN or not second & MASKED:
            raise WrongFrame(CloseReason.PROTOCOL_ERROR)
        if opcode in CONTROL and (size > LONGEST_CONTROL or not first & FINAL):
            raise WrongFrame(CloseReason.PROTOCOL_ERROR)
        if opcode not in CONTROL and (self._begun is None) is (opcode == Opcode.CONTINUATION):
            raise WrongFrame(CloseReason.PROTOCOL_ERROR)
        start = 2
        if size >= TWO_BYTES:
            start = 4 if size == TWO_BYTES else 10
            if len(buffer) < start:
                return None
            smallest = TWO_BYTES if size == TWO_BYTES else 0x10000
            size = int.from_bytes(buffer[2:start])
            if size < smallest or size > LARGEST_LENGTH:  # a length must have the shortest form
                raise WrongFrame(CloseReason.PROTOCOL_ERROR)
        if opcode not in CONTROL and len(self._message) + size > self._largest:
            raise WrongFrame(CloseReason.MESSAGE_TOO_BIG)
        end = start + MASK + size
        if len(buffer) < end:
            return None
        self._buffer = buffer[end:]
        return bool(first & FINAL), Opcode(opcode), _unmasked(buffer[start + MASK : end], buffer[start : start + MASK])

    def _joined(self, opcode: Opcode, payload: bytes, *, final: bool) -> ClientFrame | None:
        """Return the message that a frame completes; None if more fragments follow."""
        if opcode is not Opcode.CONTINUATION:
            self._begun = opcode
        self._message += payload
        if not final or self._begun is None:
            return None
        message = ClientFrame(self._begun, self._message)
        self._begun, self._message = None, b""
        if message.opcode is Opcode.TEXT and not _is_text(message.payload):
            raise WrongFrame(CloseReason.INVALID_FRAME_PAYLOAD_DATA)
        return message


def _control(opcode: Opcode, payload: bytes) -> ClientFrame:
    if opcode is Opcode.CLOSE and payload:
        code = int.from_bytes(payload[:2])
        if len(payload) < 2 or not any(code in codes for codes in CODES):
            raise WrongFrame(CloseReason.PROTOCOL_ERROR)
        if not _is_text(payload[2:]):
            raise WrongFrame(CloseReason.INVALID_FRAME_PAYLOAD_DATA)
    return ClientFrame(opcode, payload)


def _unmasked(payload: bytes, mask: bytes) -> bytes:
    size = len(payload)
    whole = (mask * (size // MASK + 1))[:size]
    return (int.from_bytes(payload) ^ int.from_bytes(whole)).to_bytes(size)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
