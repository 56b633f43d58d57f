"""The text protocol of NATS, without I/O: an incremental parser of the server's side, and the writers of the client's.

https://docs.nats.io/reference/reference-protocols/nats-protocol describes it. Each line ends in CRLF. MSG and HMSG have
a payload after their line, of as many bytes as the line says, and a CRLF.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

import msgspec

# The longest line. INFO is the longest: a server of a large cluster names all servers in it. The server itself takes
# lines of 4 kB from its clients.
LONGEST_LINE = 64 * 1024
# The largest payload that is handed on, with its headers. Nodes split what is larger (`parts.py`).
LARGEST_PAYLOAD = 1 << 20
# The largest `max_payload` that nats-server accepts. A larger size in a line is an error of the protocol.
LARGEST_SIZE = 1 << 26
LONGEST_NUMBER = 9  # digits, which `int` reads at once

CRLF = b"\r\n"
PING = b"PING\r\n"
PONG = b"PONG\r\n"


class ProtocolError(Exception):
    """Raised for bytes that no server of NATS sends. The connection can't be read any further."""


class Info(msgspec.Struct, frozen=True):
    """The fields of INFO that are used: what the server is, and what it demands. Others are ignored."""

    server_id: str = ""
    version: str = ""
    max_payload: int = LARGEST_PAYLOAD
    headers: bool = False  # it takes HPUB
    auth_required: bool = False
    tls_required: bool = False
    tls_available: bool = False
    nonce: str = ""  # to be signed by a client that logs in by nkey
    connect_urls: tuple[str, ...] = ()  # the servers of its cluster, as host and port
    ldm: bool = False  # lame duck mode: the server is about to end


class NatsMessage(NamedTuple):
    """A message that someone has published. `reply` is a subject, and empty if the publisher gave none."""

    subject: bytes
    reply: bytes
    payload: bytes
    headers: bytes = b""


class Oversized(NamedTuple):
    """The place of a message that was skipped, because its payload is too large."""

    subject: bytes
    size: int


class ServerError(NamedTuple):
    """The text of -ERR. After most errors the server closes the connection."""

    text: str


class Signal(Enum):
    """The operations without arguments."""

    PING = auto()
    PONG = auto()
    OK = auto()


Operation = NatsMessage | Oversized | Info | ServerError | Signal

_decode_info = msgspec.json.Decoder(Info).decode


class Connect(msgspec.Struct, frozen=True, omit_defaults=True):
    """The options of CONNECT. `protocol` 1 means that the server may send INFO at any time."""

    verbose: bool
    pedantic: bool
    echo: bool  # False: the server does not send the client's own messages back
    protocol: int
    headers: bool
    lang: str
    version: str
    name: str
    user: str = ""
    password: str = msgspec.field(default="", name="pass")
    auth_token: str = ""
    nkey: str = ""
    sig: str = ""


class Parser:
    """Reads what a server sends. The bytes may be cut anywhere."""

    def __init__(self) -> None:
        self._rest = bytearray()  # the beginning of an operation that has not come whole
        self._needed = 0  # bytes of `_rest` without which nothing can be read
        self._skipped = 0  # bytes that follow and are no longer of interest

    @property
    def is_between(self) -> bool:
        """True if the bytes that have come end with a whole operation."""
        return not self._rest and not self._skipped

    def feed(self, data: bytes) -> list[Operation]:
        """Return the operations that are whole now. Raises ProtocolError."""
        if self._skipped:
            skipped = min(self._skipped, len(data))
            self._skipped -= skipped
            data = data[skipped:]
        if self._rest:
            self._rest += data
            if len(self._rest) < self._needed:
                return []
            data = bytes(self._rest)
            self._rest.clear()
        self._needed = 0
        operations: list[Operation] = []
        end = self._read(data, operations)
        if end < len(data):
            self._rest += memoryview(data)[end:]
        return operations

    def _read(self, data: bytes, operations: list[Operation]) -> int:
        """Append the whole operations of the data. Return the number of bytes that they have."""
        at, length = 0, len(data)
        while at < length:
            end = data.find(CRLF, at, at + LONGEST_LINE)
            if end < 0:
                if length - at >= LONGEST_LINE:
                    raise ProtocolError("a line is too long")
                break
            operation = data[at : at + 4]
            if operation == b"MSG " or operation == b"HMSG":
                message, after = self._message(data, at, end + 2)
                if message is None:
                    break
                operations.append(message)
                at = after
            else:
                if end > at:
                    operations.append(_operation(data[at:end]))
                at = end + 2
        return min(at, length)

    def _message(self, data: bytes, at: int, start: int) -> tuple[NatsMessage | Oversized | None, int]:
        """Return a message and its end. The message is None if its payload is not whole."""
        words = data[at : start - 2].split()
        head = 0
        match words:
            case [b"MSG", subject, _, size]:
                reply = b""
            case [b"MSG", subject, _, reply, size]:
                pass
            case [b"HMSG", subject, _, headers, size]:
                reply, head = b"", _size(headers)
            case [b"HMSG", subject, _, reply, headers, size]:
                head = _size(headers)
            case _:
                raise ProtocolError("a message without its subject or its size")
        total = _size(size)
        if head > total:
            raise ProtocolError("a message has more headers than bytes")
        end = start + total
        if total > LARGEST_PAYLOAD:
            self._skipped = max(0, end + 2 - len(data))
            return Oversized(subject, total), end + 2
        if end + 2 > len(data):
            self._needed = end + 2 - at
            return None, at
        if data[end : end + 2] != CRLF:
            raise ProtocolError("a payload is longer than its size")
        return NatsMessage(subject, reply, data[start + head : end], data[start : start + head]), end + 2


def _size(word: bytes) -> int:
    if not word.isdigit() or len(word) > LONGEST_NUMBER or (size := int(word)) > LARGEST_SIZE:
        raise ProtocolError("a size is no number, or too large")
    return size


def _operation(line: bytes) -> Operation:
    """Return the operation of a line without a payload."""
    name, _, rest = line.partition(b" ")
    match name:
        case b"PING":
            return Signal.PING
        case b"PONG":
            return Signal.PONG
        case b"+OK":
            return Signal.OK
        case b"-ERR":
            return ServerError(rest.strip().strip(b"'").decode("ascii", "replace"))
        case b"INFO":
            try:
                return _decode_info(rest)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise ProtocolError(f"an INFO that is not JSON as expected: {error}") from None
        case _:
            raise ProtocolError("an unknown operation")


def log_in(options: Connect) -> bytes:
    """Return CONNECT, the first operation of a client."""
    return b"CONNECT %b\r\n" % msgspec.json.encode(options)


def subscribe(subject: bytes, number: int) -> bytes:
    """Return SUB. `number` names the subscription."""
    return b"SUB %b %d\r\n" % (subject, number)


def unsubscribe(number: int) -> bytes:
    """Return UNSUB."""
    return b"UNSUB %d\r\n" % number


def publication(subject: bytes, reply: bytes) -> bytes:
    """Return the beginning of PUB for a subject, which all messages from here to there share."""
    return b"PUB %b %b " % (subject, reply)


def publish(beginning: bytes, payload: bytes) -> Sequence[bytes]:
    """Return PUB, as pieces that are to be written one after the other."""
    return (b"%b%d\r\n" % (beginning, len(payload)), payload, CRLF)


def publish_with_headers(
    subject: bytes, reply: bytes, headers: bytes, payload: bytes | memoryview
) -> Sequence[bytes | memoryview]:
    """Return HPUB, as pieces that are to be written one after the other."""
    sizes = len(headers), len(headers) + len(payload)
    return (b"HPUB %b %b %d %d\r\n%b" % (subject, reply, *sizes, headers), payload, CRLF)
