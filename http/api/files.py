"""Media files: static, under names that cannot be guessed, and of no type that a browser would run.

With the setting `media_url`, requests are sent on to the address at which the bucket, or a cache before it, serves
them. The addresses in answers and in what other servers have stay ours, so the store can be changed at any time. Our
own pages get the files from us: their content security policy allows no other address.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace

import trio

from ...actors.rules.file_types import TYPES
from ...storage.files import Folder
from ...storage.media_stores import NAME
from ..access.context import HttpContext
from ..answers.answer import Answer, Headers
from ..answers.entity_tags import is_known
from ..answers.errors import NotFound
from ..intake.request import Request
from ..router import api
from ..server.limits import check_file

# Players that do not know the length name the largest number of 64 bits for the end.
RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,20})", re.IGNORECASE)

# A file never changes under its name.
HEADERS: Headers = (
    ("Cache-Control", "public, max-age=31536000, immutable"),
    ("Content-Disposition", "inline"),
    ("Content-Security-Policy", "default-src 'none'; sandbox"),
    ("Accept-Ranges", "bytes"),
    ("Cross-Origin-Resource-Policy", "cross-origin"),
)
# Short: the copy of another server's file may be removed, and is fetched again when we are asked for it.
SENT_ON: Headers = (
    ("Cache-Control", "public, max-age=300"),
    ("Cross-Origin-Resource-Policy", "cross-origin"),
    ("Vary", "Sec-Fetch-Site"),
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
    if (elsewhere := context.settings.media_url) is not None and request.header(b"sec-fetch-site") != "same-origin":
        return Answer(b"", 302, (*SENT_ON, ("Location", f"{elsewhere}/media/{name}")), content_type)
    folder = context.media.folder
    size = await folder.in_thread(folder.store.size, name, check_file)
    if size is None:
        raise NotFound("Not Found")
    tag = f'"{name}"'
    if is_known(tag, request.header(b"if-none-match")):
        return Answer(b"", 304, (*HEADERS, ("ETag", tag)), content_type)
    answer = _part(folder, name, size, _range(request, tag), (*HEADERS, ("ETag", tag)), content_type)
    return replace(answer, stream=lambda: _read(folder, name, 0, 0)) if request.method == "HEAD" else answer


def _range(request: Request, tag: str) -> str | None:
    """The range asked for, unless it is of another file."""
    if request.header(b"if-range") not in (None, tag):
        return None
    return request.header(b"range")


def _part(folder: Folder, name: str, size: int, asked: str | None, headers: Headers, content_type: str) -> Answer:
    wanted = RANGE.fullmatch(asked or "")
    if wanted is None or wanted[0] == "bytes=-":
        # A server may always answer several ranges with the whole file (RFC 9110, section 14.2).
        return Answer(b"", 200, (*headers, _length(size)), content_type, stream=lambda: _read(folder, name, 0, size))
    first, last = _bounds(wanted[1], wanted[2], size)
    if first >= size or first > last:
        return Answer(b"", 416, (*headers, ("Content-Range", f"bytes */{size}")), content_type)
    length = last - first + 1
    headers = (*headers, _length(length), ("Content-Range", f"bytes {first}-{last}/{size}"))
    return Answer(b"", 206, headers, content_type, stream=lambda: _read(folder, name, first, length))


def _bounds(first: str, last: str, size: int) -> tuple[int, int]:
    """`500-999`, `500-` and, for the last 500, `-500`."""
    if not first:
        return max(size - int(last), 0) if int(last) else size, size - 1
    return int(first), min(int(last), size - 1) if last else size - 1


def _length(size: int) -> tuple[str, str]:
    return ("Content-Length", str(size))


async def _read(folder: Folder, name: str, start: int, length: int) -> AsyncIterator[bytes]:
    parts = folder.store.read(name, start, length)
    try:
        while (data := await folder.in_thread(next, parts, None)) is not None:
            yield data
    finally:
        with trio.CancelScope(shield=True):
            await folder.in_thread(parts.close)
