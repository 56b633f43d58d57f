"""Content negotiation: documents of ActivityPub, pages, JSON, or text.

The rules are those of RFC 9110, section 12.5.1: the most specific range that a type matches gives its quality.
"""

from __future__ import annotations

from ...actors.activitypub.media_types import JSON_LD, Entry, entries_of
from ...actors.activitypub.vocabulary import CONTENT_TYPE
from .request import Request

JSON = "application/json"
DOCUMENTS = (CONTENT_TYPE, JSON_LD, JSON)
TEXTS = ("text/plain", "text/html")
PAGES = ("text/html", "application/xhtml+xml")

# The quality of a type, and the precision of the range that gives it: 2 for the type itself, 1 for `text/*`, 0 for
# `*/*` and for types without a range.
Preference = tuple[float, int]


def asks_for_document(request: Request) -> bool:
    """True if the client prefers a document of ActivityPub to a page."""
    return prefers(request, DOCUMENTS, PAGES)


def asks_for_json(request: Request) -> bool:
    """True if the client prefers JSON to text."""
    return prefers(request, (JSON,), TEXTS)


def prefers(request: Request, wanted: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """True if the client prefers one of the wanted types to the others.

    Among types of equal quality it prefers the more precise, and among equally precise types the wanted. If no range is
    more precise than `*/*`, the result is False.
    """
    ranges = list(entries_of(request.joined_header(b"accept") or ""))
    quality, precision = max(_preference(ranges, kind) for kind in wanted)
    return quality > 0 and precision > 0 and (quality, precision) >= max(_preference(ranges, kind) for kind in others)


def _preference(ranges: list[Entry], kind: str) -> Preference:
    names = (kind, f"{kind.partition('/')[0]}/*", "*/*")
    matching = [(2 - names.index(entry.value), _quality(entry)) for entry in ranges if entry.value in names]
    if not matching:
        return 0.0, 0
    precision = max(precision for precision, _ in matching)
    return max(quality for found, quality in matching if found == precision), precision


def _quality(entry: Entry) -> float:
    """Return the quality of a range; 0 if it can't be parsed."""
    try:
        return float(entry.parameters.get("q", "1"))
    except ValueError:
        return 0.0
