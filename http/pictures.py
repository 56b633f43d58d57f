"""The pictures of those who have none: plain, and made here, so that their addresses are true."""

from __future__ import annotations

import struct
import zlib
from functools import lru_cache

Colour = tuple[int, int, int]


@lru_cache(maxsize=8)
def plain_png(width: int, height: int, colour: Colour) -> bytes:
    """A PNG of one colour."""
    row = b"\0" + bytes(colour) * width
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(row * height, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
