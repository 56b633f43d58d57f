"""Ids as clients send them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError, PydanticUseDefault

from .nesting import Value
from .parameters import Several, Text, as_list

LARGEST_ID = 2**63 - 1
# Ids begin with the time of their creation, so no row has this one.
UNKNOWN_ID = 0


def is_id(text: str) -> bool:
    """True if the text can be an id."""
    return text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= LARGEST_ID


def as_id(value: object) -> int:
    """Return the id that a client wrote: decimal digits in a string, or a JSON number.

    A value that cannot be an id becomes `UNKNOWN_ID`, so that every endpoint answers it as it answers an id that no row
    has.
    """
    if isinstance(value, str) and is_id(value):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_ID:
        return value
    return UNKNOWN_ID


def _optional_id(value: object) -> int:
    if value is None or value == "":
        raise PydanticUseDefault
    return as_id(value)


def _position(value: object) -> int:
    """An id that is stored without reading its row. A value that cannot be an id is refused."""
    found = _optional_id(value)
    if found == UNKNOWN_ID and str(value) != str(UNKNOWN_ID):
        raise PydanticCustomError("invalid", "is invalid")
    return found


def _cursor(value: object) -> int:
    """An id below which a page ends. One above the largest means the newest entry, as some clients ask."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) > 18:
        return min(int(value.lstrip("0")[:20] or "0"), LARGEST_ID)
    return _optional_id(value)


def _lower_cursor(value: object) -> int:
    """An id above which a page begins. Nothing is above a value that can't be an id.

    A client that was moved here from another software may send an id of that software. It must not be told that all old
    entries are new.
    """
    found = _cursor(value)
    return LARGEST_ID if found == UNKNOWN_ID and not _is_zero(value) else found


def _is_zero(value: object) -> bool:
    """True for the beginning, which some clients ask for as id 0."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return text != "" and not text.strip("0")


def _ids(value: Value) -> tuple[int, ...]:
    """The ids in a list. Empty elements are left out: forms send them for an empty list."""
    return tuple(as_id(element) for element in as_list(value) if element not in ("", None))


# What clients should send; more is understood.
DIGITS = {"type": "string", "pattern": "^[0-9]{1,19}$"}

StatusId = Annotated[int | None, BeforeValidator(_optional_id), WithJsonSchema(DIGITS)]
AccountId = StatusId
ReportId = StatusId
Position = Annotated[int | None, BeforeValidator(_position), WithJsonSchema(DIGITS)]
Cursor = Annotated[int | None, BeforeValidator(_cursor), WithJsonSchema(DIGITS)]
LowerCursor = Annotated[int | None, BeforeValidator(_lower_cursor), WithJsonSchema(DIGITS)]
Ids = Annotated[tuple[int, ...], BeforeValidator(_ids), WithJsonSchema({"type": "array", "items": DIGITS})]
MaybeIds = Annotated[tuple[int, ...] | None, BeforeValidator(_ids), WithJsonSchema({"type": "array", "items": DIGITS})]
IdsAsWritten = Annotated[tuple[Text, ...], Several, WithJsonSchema({"type": "array", "items": DIGITS})]
