"""Media files: static, under names that cannot be guessed, and of no type that a browser would run."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import trio

from ...actors.rules.file_types import TYPES
from ...storage.files import NAME
from ..access.context import HttpContext
from ..answers.answer import Answer, Headers
from ..answers.entity_tags import is_known
from ..answers.errors import NotFound
from ..intake.request import Request
from ..router import api
from ..server.descriptors import check_file

AT_ONCE = 256 * 1024
RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")

# A file never changes under its name.
HEADERS: Headers = (
    ("Cache-Control", "public, max-age=31536000, immutable"),
    ("Content-Disposition", "inline"),
    ("Content-Security-Policy", "default-src 'none'; sandbox"),
    ("Accept-Ranges", "bytes"),
    ("Cross-Origin-Resource-Policy", "cross-origin"),
)


@api.get("/media/<name>")
async def show(context: HttpContext, request: Request, name: str) -> Answer:
    """A file, or the part of it that a player asks for."""
    return await serve(context, request, name)


async def serve(context: HttpContext, request: Request, name: str) -> Answer:
    """Return a file of the media folder, or the part of it that a request asks for."""
    if not NAME.fullmatch(name) or (kind := TYPES.get(name.rpartition(".")[2])) is None:
        raise NotFound("Not Found")
    content_type, _ = kind
    path = context.media.folder.path(name)
    try:
        size = await trio.to_thread.run_sync(_size, path)
    except OSError:
        raise NotFound("Not Found") from None
    tag = f'"{name}"'
    if is_known(tag, request.header(b"if-none-match")):
        return Answer(b"", 304, (*HEADERS, ("ETag", tag)), content_type)
    answer = _part(path, size, _range(request, tag), (*HEADERS, ("ETag", tag)), content_type)
    return replace(answer, stream=lambda: _read(path, 0, 0)) if request.method == "HEAD" else answer


def _size(path: Path) -> int:
    """The size of a file that can be opened. Raises OSError, and Overloaded while too many files are open."""
    with path.open("rb") as file:
        check_file(file.fileno())
        return os.fstat(file.fileno()).st_size


def _range(request: Request, tag: str) -> str | None:
    """The range asked for, unless it is of another file."""
    if request.header(b"if-range") not in (None, tag):
        return None
    return request.header(b"range")


def _part(path: Path, size: int, asked: str | None, headers: Headers, content_type: str) -> Answer:
    wanted = RANGE.fullmatch(asked or "")
    if wanted is None or wanted[0] == "bytes=-":
        # A server may always answer several ranges with the whole file (RFC 9110, section 14.2).
        return Answer(b"", 200, (*headers, _length(size)), content_type, stream=lambda: _read(path, 0, size))
    first, last = _bounds(wanted[1], wanted[2], size)
    if first >= size or first > last:
        return Answer(b"", 416, (*headers, ("Content-Range", f"bytes */{size}")), content_type)
    length = last - first + 1
    headers = (*headers, _length(length), ("Content-Range", f"bytes {first}-{last}/{size}"))
    return Answer(b"", 206, headers, content_type, stream=lambda: _read(path, first, length))


def _bounds(first: str, last: str, size: int) -> tuple[int, int]:
    """`500-999`, `500-` and, for the last 500, `-500`."""
    if not first:
        return max(size - int(last), 0) if int(last) else size, size - 1
    return int(first), min(int(last), size - 1) if last else size - 1


def _length(size: int) -> tuple[str, str]:
    return ("Content-Length", str(size))


async def _read(path: Path, start: int, length: int) -> AsyncIterator[bytes]:
    async with await trio.open_file(path, "rb") as file:
        await file.seek(start)
        while length > 0 and (data := await file.read(min(length, AT_ONCE))):
            length -= len(data)
            yield data
