"""Multipart bodies, read chunk by chunk: fields stay in memory, files go to disk when they are large."""

from __future__ import annotations

from collections.abc import AsyncIterable
from tempfile import SpooledTemporaryFile

from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Epilogue, Field, File, MultipartDecoder, NeedData

from .errors import Malformed, TooLarge
from .parameters import MOST_PARAMETERS, Pairs, Upload, text

# Fields together; files count for the body's own limit.
LARGEST_FIELDS = 1024 * 1024
KEPT_IN_MEMORY = 512 * 1024


async def read_multipart(content_type: str, chunks: AsyncIterable[bytes]) -> Pairs:
    """The fields and files of a body."""
    boundary = parse_options_header(content_type)[1].get("boundary", "")
    if not boundary:
        raise Malformed("The multipart body has no boundary")
    decoder = MultipartDecoder(boundary.encode(), max_form_memory_size=LARGEST_FIELDS, max_parts=MOST_PARAMETERS)
    parts = _Parts()
    try:
        async for chunk in chunks:
            decoder.receive_data(chunk)
            parts.take(decoder)
        decoder.receive_data(None)
        parts.take(decoder)
    except RequestEntityTooLarge:
        raise TooLarge from None
    except ValueError:
        raise Malformed("The multipart body is not readable") from None
    return parts.pairs


class _Parts:
    """The part that is being read, and those that are done."""

    def __init__(self) -> None:
        self.pairs: Pairs = []
        self._field: Field | None = None
        self._text = bytearray()
        self._file: File | None = None
        self._spool: SpooledTemporaryFile[bytes] | None = None
        self._fields_size = 0

    def take(self, decoder: MultipartDecoder) -> None:
        """Everything the decoder can say so far."""
        while not isinstance(event := decoder.next_event(), NeedData | Epilogue):
            match event:
                case Field():
                    self._field, self._text = event, bytearray()
                case File():
                    # Closed by whoever takes the upload, or with the last reference to it.
                    self._file, self._spool = event, SpooledTemporaryFile(max_size=KEPT_IN_MEMORY)  # noqa: SIM115
                case Data():
                    self._add(event.data)
                    if not event.more_data:
                        self._finish()
                case _:
                    pass

    def _add(self, data: bytes) -> None:
        if self._spool is not None:
            self._spool.write(data)
            return
        self._fields_size += len(data)
        if self._fields_size > LARGEST_FIELDS:
            raise TooLarge
        self._text += data

    def _finish(self) -> None:
        if self._file is not None and self._spool is not None:
            size = self._spool.tell()
            self._spool.seek(0)
            content_type = self._file.headers.get("content-type", "application/octet-stream")
            self.pairs.append((self._file.name, Upload(self._file.filename, content_type, self._spool, size)))
            self._file = self._spool = None
        elif self._field is not None:
            self.pairs.append((self._field.name, text(bytes(self._text))))
            self._field = None
