"""Bodies of answers, with a limit on what they become: a kilobyte of gzip can be a megabyte."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator

from .errors import BadAnswer, TooLarge

ENCODINGS = "gzip"  # what is asked for
GZIP = 16 + zlib.MAX_WBITS


async def read_body(chunks: AsyncIterator[bytes], encoding: str, limit: int) -> bytes:
    """Return a body without its encoding. It has at most `limit` bytes, before and after."""
    match encoding.strip().lower():
        case "" | "identity":
            return b"".join([chunk async for chunk in _limited(chunks, limit)])
        case "gzip" | "x-gzip":
            return await _unzipped(chunks, limit)
        case _:
            raise BadAnswer("the answer has an encoding that was not asked for")


async def _limited(chunks: AsyncIterator[bytes], limit: int) -> AsyncIterator[bytes]:
    left = limit
    async for chunk in chunks:
        left -= len(chunk)
        if left < 0:
            raise TooLarge("the answer has too many bytes")
        yield chunk


async def _unzipped(chunks: AsyncIterator[bytes], limit: int) -> bytes:
    unzip, body = zlib.decompressobj(GZIP), bytearray()
    async for chunk in _limited(chunks, limit):
        try:
            # One byte more than allowed tells a body that is too large from one that just fits.
            body += unzip.decompress(chunk, limit + 1 - len(body))
        except zlib.error:
            raise BadAnswer("the answer is no gzip") from None
        if len(body) > limit:
            raise TooLarge("the answer has too many bytes when it is unzipped")
    if body and not unzip.eof:
        raise BadAnswer("the answer ends too early")
    return bytes(body)
