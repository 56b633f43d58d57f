"""Multipart bodies (RFC 7578), read chunk by chunk: fields stay in memory, files go to disk when they are large.

Werkzeug's decoder (3.1.9) is not used: it puts a stray CR at the end of a file if a chunk ends inside the delimiter.
"""

from __future__ import annotations

from collections.abc import AsyncIterable
from tempfile import SpooledTemporaryFile

from ..answers.errors import Malformed, TooLarge
from ..server.descriptors import check_file
from .decoding import MOST_PARAMETERS, text
from .nesting import Pairs
from .upload import Upload

# All fields together. Files count for the limit of the body.
LARGEST_FIELDS = 1024 * 1024
LARGEST_HEAD = 16 * 1024  # of one part
KEPT_IN_MEMORY = 512 * 1024
LONGEST_BOUNDARY = 200  # the RFC allows 70

UNREADABLE = "The multipart body is not readable"


async def read_multipart(content_type: str, chunks: AsyncIterable[bytes]) -> Pairs:
    """Return the fields and files of a body."""
    boundary = _options(content_type).get("boundary", "")
    if not 0 < len(boundary) <= LONGEST_BOUNDARY or not boundary.isascii():
        raise Malformed("The multipart body has no boundary")
    reader = _Reader(boundary.encode())
    async for chunk in chunks:
        reader.feed(chunk)
    return reader.finish()


class _FormPart:
    """One part: a file if it has a file name, else a field."""

    def __init__(self, head: bytes) -> None:
        headers = dict(_header(line) for line in head.split(b"\r\n"))
        options = _options(headers.get("content-disposition", ""))
        if "name" not in options:
            raise Malformed(UNREADABLE)
        self.name = options["name"]
        self.filename = options.get("filename")
        self.content_type = headers.get("content-type", "application/octet-stream")
        self.text = bytearray()
        self._gap = 2  # the empty line's break, which a part without a body may leave out (RFC 2046)
        # The endpoint closes it; else it is closed with the last reference to it.
        self.spool = SpooledTemporaryFile()  # noqa: SIM115
        self._on_disk = False

    def begun(self, data: bytes) -> bytes:
        """Return data without the empty line before it."""
        begun, self._gap = data[self._gap :], max(self._gap - len(data), 0)
        return begun

    def add(self, data: bytes) -> None:
        if self.filename is None:
            self.text += data
        else:
            self.spool.write(data)
            if not self._on_disk and self.spool.tell() > KEPT_IN_MEMORY:
                self._move_to_disk()

    def _move_to_disk(self) -> None:
        self.spool.rollover()
        self._on_disk = True
        check_file(self.spool.fileno())

    def value(self) -> str | Upload:
        if self.filename is None:
            return text(bytes(self.text))
        size = self.spool.tell()
        self.spool.seek(0)
        return Upload(self.filename, self.content_type, self.spool, size)


class _Reader:
    """The parser: the bytes that are not consumed yet, and the current part."""

    def __init__(self, boundary: bytes) -> None:
        self._delimiter = b"\r\n--" + boundary
        self._buffer = bytearray(b"\r\n")  # so that the first delimiter looks like the others
        self._part: _FormPart | None = None
        self._step = self._skip_preamble
        self._fields_size = 0
        self.pairs: Pairs = []

    def feed(self, chunk: bytes) -> None:
        """Parse as far as the bytes allow."""
        self._buffer += chunk
        while self._step():
            pass

    def finish(self) -> Pairs:
        """Return all fields and files. Raises Malformed if the closing delimiter is missing."""
        if self._step != self._ignore:
            raise Malformed(UNREADABLE)
        return self.pairs

    def _skip_preamble(self) -> bool:
        return self._take_data() is not None

    def _read_data(self) -> bool:
        part = self._part
        if part is None or self._take_data() is None:
            return False
        self.pairs.append((part.name, part.value()))
        if len(self.pairs) > MOST_PARAMETERS:
            raise Malformed("Too many parameters")
        return True

    def _take_data(self) -> bytes | None:
        """Return the data up to the delimiter and remove both; None while the delimiter may still come."""
        end = self._buffer.find(self._delimiter)
        # The last bytes may be the beginning of a delimiter.
        certain = end if end >= 0 else max(0, len(self._buffer) - len(self._delimiter) + 1)
        data = bytes(self._buffer[:certain])
        if self._part is not None:
            self._add(self._part, data)
        if end < 0:
            del self._buffer[:certain]
            return None
        del self._buffer[: end + len(self._delimiter)]
        self._step = self._read_head
        return data

    def _add(self, part: _FormPart, data: bytes) -> None:
        data = part.begun(data)
        if part.filename is None:
            self._fields_size += len(data)
            if self._fields_size > LARGEST_FIELDS:
                raise TooLarge
        part.add(data)

    def _read_head(self) -> bool:
        """After a delimiter: `--` for the end, or a line break and the next part's headers."""
        if self._buffer.startswith(b"--"):
            self._step = self._ignore
            return True
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > LARGEST_HEAD:
                raise Malformed(UNREADABLE)
            return False
        padding, _, head = bytes(self._buffer[:end]).partition(b"\r\n")
        if padding.strip(b" \t"):
            raise Malformed(UNREADABLE)
        self._part = _FormPart(head)
        del self._buffer[: end + 2]
        self._step = self._read_data
        return True

    def _ignore(self) -> bool:
        self._buffer.clear()
        return False


def _options(header: str) -> dict[str, str]:
    """Return the parameters of a header."""
    from werkzeug.http import parse_options_header  # late: it takes 5 MiB, and few servers get such bodies at once

    return parse_options_header(header)[1]


def _header(line: bytes) -> tuple[str, str]:
    name, colon, value = text(line).partition(":")
    if not colon:
        raise Malformed(UNREADABLE)
    return name.strip().lower(), value.strip()
