"""Values in words, for pages, mails and the command line: numbers of things, and the server's description of itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import cast

PLURAL = re.compile(r"ies\b|s\b")


def things_of(count: int, things: str) -> str:
    """Return the words for a number of things, whose plural is given: `things_of(1, "open reports")` is "open report".

    The first word in the plural becomes the singular, so that "copies of files" becomes "copy of files".
    """
    return things if count != 1 else PLURAL.sub(lambda end: "y" if end[0] == "ies" else "", things, count=1)


def number_of(count: int, things: str) -> str:
    """Return a number of things, whose plural is given: `number_of(1, "copies of files")` is "1 copy of files"."""
    return f"{count} {things_of(count, things)}"


def plain(value: object, between: str = ", ") -> str:
    """Return a value for people, and not as Python writes it. The values of a collection stand `between` each other."""
    if value is None or value == "":
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    if isinstance(value, Mapping):
        # isinstance does not check the types of the contents.
        named = cast("Mapping[object, object]", value)
        return between.join(f"{plain(name)} {plain(entry)}" for name, entry in named.items()) or "none"
    if isinstance(value, list | tuple | AbstractSet):
        # As above.
        return between.join(plain(entry) for entry in cast("list[object]", value)) or "none"
    return str(round(value, 3) if isinstance(value, float) else value)
