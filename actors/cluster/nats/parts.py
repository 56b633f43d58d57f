"""Datagrams that are larger than a server takes: split into parts, and put together again on the other side.

A part is a message with the header `Troupe-Part`: a number that all parts of a datagram share, the place of the part,
and the length of the whole. A datagram is dropped if its parts do not arrive within `PATIENCE`, or if there are too
many of others: the layer above repairs what is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .protocol import LARGEST_PAYLOAD

# The largest datagram. A bundle has the facts of a single commit: mostly 2 kB. In place of a larger one, the other
# nodes read their rows again. To read one of this size takes 31 ms if it has as many facts as possible.
LARGEST_DATAGRAM = 4 << 20
MOST_WAITING = 32 << 20  # bytes of incomplete datagrams
PATIENCE = 5.0  # seconds from the first part of a datagram to its last
SMALLEST_PAYLOAD = 1024  # bytes that a server must take, so that parts are more content than header
OVERHEAD = 200  # bytes that a part takes besides its content
HEADER = b"NATS/1.0\r\nTroupe-Part: %d/%d/%d\r\n\r\n"
BEGINNING = b"NATS/1.0\r\nTroupe-Part: "
LONGEST_HEADER = len(BEGINNING) + 20 + 9 + 9 + 4 + 2  # of a number of 64 bits, and two lengths


def split(datagram: bytes, number: int, max_payload: int) -> Iterator[tuple[bytes, memoryview]]:
    """Return the parts of a datagram, each as headers and payload, which together have at most `max_payload` bytes."""
    size = min(max_payload, LARGEST_PAYLOAD) - LONGEST_HEADER
    whole = memoryview(datagram)
    for start in range(0, len(datagram), size):
        yield HEADER % (number, start, len(datagram)), whole[start : start + size]


@dataclass(slots=True)
class _PartialDatagram:
    """The parts of a datagram that have arrived, by their places."""

    length: int
    until: float
    held: int = 0  # bytes
    arrived: int = 0  # bytes of the datagram
    parts: dict[int, bytes] = field(default_factory=dict[int, bytes])


class PartAssembly:
    """Puts the parts of datagrams together."""

    def __init__(self) -> None:
        self._incomplete: dict[tuple[str, int], _PartialDatagram] = {}  # by sender and number, the oldest at the front
        self._held = 0  # bytes

    def add(self, sender: str, headers: bytes, payload: bytes, now: float) -> bytes | None:
        """Take a part. Return the datagram if it is the last one, and None for headers that are not of a part."""
        self.forget(now)
        if (place := _place(headers)) is None:
            return None
        number, start, length = place
        if not 0 < len(payload) <= length - start or length > LARGEST_DATAGRAM:
            return None
        key = sender, number
        datagram = self._incomplete.setdefault(key, _PartialDatagram(length, now + PATIENCE))
        if start in datagram.parts or length != datagram.length:
            return None
        datagram.parts[start] = payload
        datagram.arrived += len(payload)
        datagram.held += len(payload) + OVERHEAD
        self._held += len(payload) + OVERHEAD
        if datagram.arrived >= length:
            self._drop(key)
            return _joined(datagram)
        while self._held > MOST_WAITING:
            self._drop(next(iter(self._incomplete)))
        return None

    def forget(self, now: float) -> None:
        """Drop the datagrams whose last part is late."""
        while self._incomplete:
            key, oldest = next(iter(self._incomplete.items()))
            if oldest.until > now:
                return
            self._drop(key)

    def _drop(self, key: tuple[str, int]) -> None:
        self._held -= self._incomplete.pop(key).held


def _place(headers: bytes) -> tuple[int, int, int] | None:
    """Return the number, place and length of a part. None for other headers."""
    if not headers.startswith(BEGINNING) or not headers.endswith(b"\r\n\r\n") or len(headers) > LONGEST_HEADER:
        return None
    words = headers[len(BEGINNING) : -4].split(b"/")
    if len(words) != 3 or not all(word.isdigit() for word in words):
        return None
    number, start, length = map(int, words)
    return number, start, length


def _joined(datagram: _PartialDatagram) -> bytes | None:
    """Return the whole of a datagram. None if its parts have a gap or overlap."""
    at = 0
    for start, part in (parts := sorted(datagram.parts.items())):
        if start != at:
            return None
        at += len(part)
    return b"".join(part for _, part in parts)
