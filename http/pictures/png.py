"""PNG files made without an imaging library, for drawn avatars and the emblem."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from functools import lru_cache

Colour = tuple[int, int, int]


def mixed(under: Colour, over: Colour, share: float) -> Colour:
    """Return a mixture of two colours, with a share of `over` from 0 to 1."""
    red, green, blue = (round(low + (high - low) * share) for low, high in zip(under, over, strict=True))
    return red, green, blue


@lru_cache(maxsize=8)
def plain_png(width: int, height: int, colour: Colour) -> bytes:
    """Return a PNG of a single colour."""
    return indexed_png([bytes(width)] * height, [colour])


def indexed_png(rows: Sequence[bytes], palette: Sequence[Colour]) -> bytes:
    """Return a PNG. `rows` have a byte for each pixel: the number of its colour in the palette."""
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 3, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    chunks = ((b"IHDR", header), (b"PLTE", b"".join(map(bytes, palette))), (b"IDAT", pixels), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
