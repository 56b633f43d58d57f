"""Bodies of answers, with a limit on their decompressed size: a kilobyte of gzip can become a megabyte."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable

from .messages import AnswerTooLarge, BadAnswer

ENCODINGS = "gzip"  # that requests accept
# The names of content codings, as IANA has them. Other names are ignored, as in browsers: object storage returns the
# `aws-chunked` of uploads, and some servers write a character set or `none` there.
CODINGS = frozenset({
    "aes128gcm", "br", "compress", "dcb", "dcz", "deflate", "exi", "gzip", "pack200-gzip", "x-compress", "x-gzip",
    "zstd",
})  # fmt: skip
Write = Callable[[bytes], Awaitable[None]]

GZIP = 16 + zlib.MAX_WBITS
MEMBER = b"\x1f\x8b"  # the first bytes of a member
MOST_MEMBERS = 256  # of a body: each costs time, also an empty one


async def read_body(chunks: AsyncIterator[bytes], encoding: str, limit: int, *, cut: bool = False) -> bytes:
    """Return a decoded body. It has at most `limit` bytes, before and after decoding.

    Raise AnswerTooLarge for a longer body or, with `cut`, return its beginning.
    """
    match _codings_of(encoding):
        case []:
            body = bytearray()
            async for chunk in chunks:
                body += chunk
                if len(body) > limit:
                    return _cut(body, limit, cut=cut)
            return bytes(body)
        case ["gzip" | "x-gzip"]:
            return await _unzipped(chunks, limit, cut=cut)
        case _:
            raise BadAnswer("the answer has an encoding that was not asked for")


async def copy_body(chunks: AsyncIterator[bytes], encoding: str, limit: int, write: Write) -> None:
    """Pass a body to `write`, piece by piece. It must have no encoding. Raise AnswerTooLarge if it is longer than
    `limit`."""
    if _codings_of(encoding):
        raise BadAnswer("the answer has an encoding that was not asked for")
    received = 0
    async for chunk in chunks:
        received += len(chunk)
        if received > limit:
            raise AnswerTooLarge("the answer has too many bytes")
        await write(chunk)


def _codings_of(encoding: str) -> list[str]:
    """Return the codings of a body in the order in which they were applied."""
    return [coding for name in encoding.split(",") if (coding := name.strip().lower()) in CODINGS]


async def _unzipped(chunks: AsyncIterator[bytes], limit: int, *, cut: bool) -> bytes:
    """Return an unpacked body. Servers that compress it piece by piece send several members of gzip (RFC 1952, 2.2).

    Other bytes after a member are ignored, as in browsers.
    """
    unzip, body, received, members = zlib.decompressobj(GZIP), bytearray(), 0, 1
    async for chunk in chunks:
        received += len(chunk)
        try:
            # A byte more than allowed distinguishes a body that is too large from a body that just fits.
            if not unzip.eof or MEMBER.startswith(unzip.unused_data[:2]):  # zlib copies all other bytes for each chunk
                body += unzip.decompress(chunk, limit + 1 - len(body))
            while unzip.unused_data.startswith(MEMBER) and len(body) <= limit:
                members += 1
                if members > MOST_MEMBERS:
                    raise BadAnswer("the answer has too many members of gzip")
                rest, unzip = unzip.unused_data, zlib.decompressobj(GZIP)
                body += unzip.decompress(rest, limit + 1 - len(body))
        except zlib.error:
            raise BadAnswer("the answer is not gzip") from None
        if len(body) > limit:
            return _cut(body, limit, cut=cut)
        if received > limit:
            raise AnswerTooLarge("the answer has too many bytes")
    if body and not unzip.eof:
        raise BadAnswer("the answer ends too early")
    return bytes(body)


def _cut(body: bytearray, limit: int, *, cut: bool) -> bytes:
    if not cut:
        raise AnswerTooLarge("the answer has too many bytes")
    return bytes(body[:limit])
