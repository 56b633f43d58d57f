"""Uploaded files as endpoints receive them."""

from __future__ import annotations

import binascii
import re
from io import BytesIO
from typing import IO, Annotated

from pydantic import PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

# A file as a text (RFC 2397), which Mastodon reads too. Libraries send avatars so, in JSON and in forms. A body without
# file parts is small (`LARGEST_BODY`), and so are the texts of one with file parts, so that this is quickly decoded.
DATA_URL = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?:;[\w.+-]+=[^;,]{0,100})*;base64,", re.IGNORECASE)


class Upload:
    """A file part of a multipart body, spooled to disk when it is large."""

    __slots__ = ("content_type", "file", "filename", "size")

    def __init__(self, filename: str, content_type: str, file: IO[bytes], size: int) -> None:
        self.filename = filename
        self.content_type = content_type
        self.file = file
        self.size = size


def _upload(value: object) -> Upload | None:
    """A file part, or the file in a `data:` URL. A form without a file sends an empty text."""
    if isinstance(value, Upload):
        return value
    if value is None or value == "":
        return None
    if isinstance(value, str) and (found := DATA_URL.match(value)) is not None:
        try:
            data = binascii.a2b_base64(value[found.end() :])
        except ValueError:
            raise PydanticCustomError("invalid", "is invalid") from None
        return Upload("", found["type"] or "", BytesIO(data), len(data))
    raise PydanticCustomError("invalid", "is invalid")


MaybeUpload = Annotated[Upload | None, PlainValidator(_upload), WithJsonSchema({"type": "string", "format": "binary"})]
