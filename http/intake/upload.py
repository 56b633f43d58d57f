"""Uploaded files as endpoints receive them."""

from __future__ import annotations

from typing import IO, Annotated

from pydantic import PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError


class Upload:
    """A file part of a multipart body, spooled to disk when it is large."""

    __slots__ = ("content_type", "file", "filename", "size")

    def __init__(self, filename: str, content_type: str, file: IO[bytes], size: int) -> None:
        self.filename = filename
        self.content_type = content_type
        self.file = file
        self.size = size


def _upload(value: object) -> Upload | None:
    """A file part. A form without a file sends an empty text."""
    if isinstance(value, Upload):
        return value
    if value is None or value == "":
        return None
    raise PydanticCustomError("invalid", "is invalid")


MaybeUpload = Annotated[Upload | None, PlainValidator(_upload), WithJsonSchema({"type": "string", "format": "binary"})]
