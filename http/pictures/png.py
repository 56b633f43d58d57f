"""PNG files made without an imaging library, for the pictures of accounts that have uploaded none."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from functools import lru_cache

Colour = tuple[int, int, int]


@lru_cache(maxsize=8)
def plain_png(width: int, height: int, colour: Colour) -> bytes:
    """A PNG of one colour."""
    return indexed_png([bytes(width)] * height, [colour])


def indexed_png(rows: Sequence[bytes], palette: Sequence[Colour]) -> bytes:
    """A PNG whose rows hold, for each pixel, the number of its colour in the palette."""
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 3, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    chunks = ((b"IHDR", header), (b"PLTE", b"".join(map(bytes, palette))), (b"IDAT", pixels), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
