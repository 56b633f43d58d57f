"""Multipart bodies (RFC 7578), read chunk by chunk: fields stay in memory, files go to disk when they are large.

Werkzeug's decoder (3.1.9) is not used: it puts a stray CR at the end of a file if a chunk ends inside the delimiter.
Its parser of parameters is not used either: it ends a boundary or a name without quotes at the first `/`, `=` or `[`.
RFC 9110 requires quotes for these characters, but browsers, apps and Rack do not write them.

The library `multipart` (2.0.1) is correct and as fast, but refuses four forms that clients send and that Rack reads
(`tests/http/test_forms.py`, `test_request.py`): lines that end with LF alone, names without quotes that have brackets,
spaces after a delimiter, and a part without an empty line and body.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterable
from itertools import islice
from tempfile import SpooledTemporaryFile
from urllib.parse import unquote

from ..answers.errors import Malformed, TooLarge
from ..server.limits import check_file
from .decoding import MOST_PARAMETERS, Pairs, Upload, text

# Bytes of all fields together. Files count for the limit of the body.
LARGEST_FIELDS = 1024 * 1024
LARGEST_HEAD = 16 * 1024  # bytes of the headers of a part
KEPT_IN_MEMORY = 512 * 1024  # bytes of a file; a larger file goes to disk
LONGEST_BOUNDARY = 200  # the RFC allows 70

UNREADABLE = "The multipart body is not readable"
NO_BOUNDARY = "The multipart body has no boundary"
CUT = "The multipart body ends before its last boundary"
NO_NAME = "A part of the multipart body has no name"

# A parameter: a quoted value (without a closing quote it ends with the header), or all up to the next semicolon. The
# expression does not backtrack, so that its cost is linear.
OPTION = re.compile(
    r';\s*(?P<name>[^\s=;"]+)\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)\\?(?:"|$)|(?P<bare>[^;]*))', re.DOTALL
)
MOST_OPTIONS = 16  # of a header; clients send three at most
ESCAPES = re.compile(r'\\(["\\])')
# The escapes of browsers for characters that would end a name.
WRITTEN_IN_NAMES = (("%22", '"'), ("%0D", "\r"), ("%0A", "\n"))
FOLDED = re.compile(rb"\r?\n[ \t]+")
# A part with one of these types is a file also without a file name: apps send no name for files in memory.
TYPES_OF_FILES = ("image/", "video/", "audio/")
# How media files begin that come without a file name and type. No text begins so: PostgreSQL stores no NUL, and the
# others are not UTF-8, except that of WebM.
BEGINNINGS = (b"\xff", b"\x89PNG", b"\x1aE\xdf\xa3")
LONGEST_BEGINNING = 16  # bytes: all other formats have a NUL among them


async def read_multipart(content_type: str, chunks: AsyncIterable[bytes]) -> Pairs:
    """Return the fields and files of a body."""
    boundary = _options(content_type).get("boundary", "")
    usable = 0 < len(boundary) <= LONGEST_BOUNDARY and boundary.isascii()
    reader = _Reader(boundary.encode()) if usable else None
    async for chunk in chunks:
        if reader is None and chunk:
            raise Malformed(NO_BOUNDARY)
        if reader is not None:
            reader.feed(chunk)
    return [] if reader is None else reader.finish()


class _FormPart:
    """A part: a file if it has a file name, a type of `TYPES_OF_FILES` or the beginning of a file, else a field."""

    def __init__(self, head: bytes, line_end: bytes) -> None:
        headers = dict(_header(line) for line in FOLDED.sub(b" ", head).splitlines())
        options = _options(headers.get("content-disposition", ""))
        if "name" not in options:
            raise Malformed(NO_NAME)
        self.name = options["name"]
        self.content_type = headers.get("content-type", "application/octet-stream")
        is_file = self.content_type.lower().startswith(TYPES_OF_FILES)
        self.filename = options.get("filename", "" if is_file else None)
        self.text = bytearray()
        self._gap = len(line_end)  # bytes of the empty line, which a part without a body may leave out (RFC 2046)
        # The endpoint closes the file; otherwise it is closed with its last reference.
        self.spool = SpooledTemporaryFile()  # noqa: SIM115
        self._on_disk = False

    def begun(self, data: bytes) -> bytes:
        """Return data without the empty line before it."""
        begun, self._gap = data[self._gap :], max(self._gap - len(data), 0)
        return begun

    def add(self, data: bytes) -> None:
        if self.filename is None:
            undecided = len(self.text) < LONGEST_BEGINNING
            self.text += data
            if undecided and len(self.text) >= LONGEST_BEGINNING and _is_file(bytes(self.text[:LONGEST_BEGINNING])):
                self.filename = ""
                self.spool.write(self.text)
                self.text.clear()
        else:
            self.spool.write(data)
            if not self._on_disk and self.spool.tell() > KEPT_IN_MEMORY:
                self.spool.rollover()
                self._on_disk = True
                check_file(self.spool.fileno())

    def value(self) -> str | Upload | None:
        """Return the text or the file; None for the empty part that browsers send if no file is chosen."""
        if self.filename is None:
            return text(bytes(self.text), _options(self.content_type).get("charset", ""))
        size = self.spool.tell()
        if not self.filename and size == 0:
            return None
        self.spool.seek(0)
        return Upload(self.filename, self.content_type, self.spool, size)


def _is_file(beginning: bytes) -> bool:
    return b"\0" in beginning or beginning.startswith(BEGINNINGS)


class _Reader:
    """The parser: the bytes that are not consumed yet, and the current part."""

    def __init__(self, boundary: bytes) -> None:
        self._boundary = b"--" + boundary
        self._line_end = b"\r\n"
        self._buffer = bytearray(b"\n")  # so that the first delimiter looks like the others
        self._part: _FormPart | None = None
        self._step = self._skip_preamble
        self._fields_size = 0
        self._is_empty = True
        self.pairs: Pairs = []

    def feed(self, chunk: bytes) -> None:
        """Parse as far as the bytes allow."""
        self._buffer += chunk
        self._is_empty = self._is_empty and not chunk
        while self._step():
            pass

    def finish(self) -> Pairs:
        """Return all fields and files. Raises Malformed if the closing delimiter is missing."""
        if self._step != self._ignore and not self._is_empty:
            raise Malformed(CUT)
        return self.pairs

    def _skip_preamble(self) -> bool:
        """Find the first delimiter. The end of its line shows if the lines of this body end with CRLF or LF."""
        delimiter = b"\n" + self._boundary
        begin = self._buffer.find(delimiter)
        if begin < 0:
            del self._buffer[: max(0, len(self._buffer) - len(delimiter) + 1)]
            return False
        end = self._buffer.find(b"\n", begin + 1)
        closed = self._buffer.startswith(b"--", begin + len(delimiter))
        if end < 0 and not closed:
            if len(self._buffer) - begin > LARGEST_HEAD:
                raise Malformed(UNREADABLE)
            return False
        if not closed and not self._buffer.endswith(b"\r", 0, end):
            self._line_end = b"\n"
        del self._buffer[: begin + len(delimiter)]
        self._step = self._read_head
        return True

    def _read_data(self) -> bool:
        part = self._part
        if part is None or self._take_data() is None:
            return False
        if (value := part.value()) is not None:
            self.pairs.append((part.name, value))
        if len(self.pairs) > MOST_PARAMETERS:
            raise Malformed("Too many parameters")
        return True

    def _take_data(self) -> bytes | None:
        """Return the data up to the delimiter and remove both; None while the delimiter may still come."""
        delimiter = self._line_end + self._boundary
        end = self._buffer.find(delimiter)
        # The last bytes may be the beginning of a delimiter.
        certain = end if end >= 0 else max(0, len(self._buffer) - len(delimiter) + 1)
        data = bytes(self._buffer[:certain])
        if self._part is not None:
            self._add(self._part, data)
        if end < 0:
            del self._buffer[:certain]
            return None
        del self._buffer[: end + len(delimiter)]
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
        end = self._buffer.find(2 * self._line_end)
        if end < 0:
            if len(self._buffer) > LARGEST_HEAD:
                raise Malformed(UNREADABLE)
            return False
        padding, _, head = bytes(self._buffer[:end]).partition(self._line_end)
        if padding.strip(b" \t"):
            raise Malformed(UNREADABLE)
        self._part = _FormPart(head, self._line_end)
        del self._buffer[: end + len(self._line_end)]
        self._step = self._read_data
        return True

    def _ignore(self) -> bool:
        self._buffer.clear()
        return False


def _options(header: str) -> dict[str, str]:
    """Return the parameters of a header by their names in lower case. A form with a charset (RFC 8187) is preferred."""
    found: dict[str, str] = {}
    for match in islice(OPTION.finditer(header), MOST_OPTIONS):
        name, quoted = match["name"].lower(), match["quoted"]
        value = match["bare"].strip() if quoted is None else ESCAPES.sub(r"\1", quoted)
        for written, character in WRITTEN_IN_NAMES:
            value = value.replace(written, character)
        found.setdefault(name, value)
    for name, value in [pair for pair in found.items() if pair[0].endswith("*")]:
        charset, _, escaped = value.partition("'")
        encoding = "latin-1" if charset.lower() == "iso-8859-1" else "utf-8"
        found[name.removesuffix("*")] = unquote(escaped.partition("'")[2], encoding)
    return found


def _header(line: bytes) -> tuple[str, str]:
    name, colon, value = text(line).partition(":")
    if not colon:
        raise Malformed(UNREADABLE)
    return name.strip().lower(), value.strip()
