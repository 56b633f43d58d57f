"""Media files: static, with names that can't be guessed, and only of types that no browser executes.

With the setting `media_url`, requests are redirected to the URL at which the bucket, or a cache in front of it, serves
the files. The URLs in answers and documents stay those of this server, so the store can be changed at any time. Pages
of this server get the files from it, because their content security policy allows no other origin.
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

# Players that do not know the length send the largest number of 64 bits as the end.
RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,20})", re.IGNORECASE)

# The content of a name never changes.
HEADERS: Headers = (
    ("Cache-Control", "public, max-age=31536000, immutable"),
    ("Content-Disposition", "inline"),
    ("Content-Security-Policy", "default-src 'none'; sandbox"),
    ("Accept-Ranges", "bytes"),
    ("Cross-Origin-Resource-Policy", "cross-origin"),
)
# Short, because copies of other servers' files may be removed. A request to this server fetches them again.
SENT_ON: Headers = (
    ("Cache-Control", "public, max-age=300"),
    ("Cross-Origin-Resource-Policy", "cross-origin"),
    ("Vary", "Sec-Fetch-Site"),
)


@api.get("/media/<name>", without_memory=True)
async def show(context: HttpContext, request: Request, name: str) -> Answer:
    """A media file, or the range of it that a player requests."""
    return await serve(context, request, name)


async def serve(context: HttpContext, request: Request, name: str) -> Answer:
    """Return a file of the media folder, or the requested range of it. Raises NotFound."""
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
    """Return the requested range; None if the condition If-Range names another file."""
    if request.header(b"if-range") not in (None, tag):
        return None
    return request.header(b"range")


def _part(folder: Folder, name: str, size: int, asked: str | None, headers: Headers, content_type: str) -> Answer:
    wanted = RANGE.fullmatch(asked or "")
    if wanted is None or wanted[0] == "bytes=-":
        # Several ranges get the whole file, as RFC 9110 (section 14.2) allows.
        return Answer(b"", 200, (*headers, _length(size)), content_type, stream=lambda: _read(folder, name, 0, size))
    first, last = _bounds(wanted[1], wanted[2], size)
    if first >= size or first > last:
        return Answer(b"", 416, (*headers, ("Content-Range", f"bytes */{size}")), content_type)
    length = last - first + 1
    headers = (*headers, _length(length), ("Content-Range", f"bytes {first}-{last}/{size}"))
    return Answer(b"", 206, headers, content_type, stream=lambda: _read(folder, name, first, length))


def _bounds(first: str, last: str, size: int) -> tuple[int, int]:
    """Return the first and the last byte of `500-999`, of `500-`, or of `-500`, which means the last 500 bytes."""
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
