"""Content negotiation: whether a client wants the document of a thing, as other servers do, or the page, or JSON.

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

# How well a type is liked, and how precisely the range names it that says so: 2 for the type itself, 1 for `text/*`,
# 0 for `*/*` and for types that no range names.
Liking = tuple[float, int]


def asks_for_document(request: Request) -> bool:
    """True if a request likes the document of a thing better than its page."""
    return prefers(request, DOCUMENTS, PAGES)


def asks_for_json(request: Request) -> bool:
    """True if a request likes JSON better than text."""
    return prefers(request, (JSON,), TEXTS)


def prefers(request: Request, wanted: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """True if a request likes one of the wanted types better than the others.

    If it likes them equally, it gets what it names more precisely, and of two that it names the wanted one. A request
    that names none gets another one: `*/*` names nothing.
    """
    ranges = _ranges(request)
    quality, precision = max(_liking(ranges, kind) for kind in wanted)
    return quality > 0 and precision > 0 and (quality, precision) >= max(_liking(ranges, kind) for kind in others)


def _ranges(request: Request) -> list[Entry]:
    """Return the ranges of all lines of the header Accept."""
    return list(entries_of(request.joined_header(b"accept") or ""))


def _liking(ranges: list[Entry], kind: str) -> Liking:
    names = (kind, f"{kind.partition('/')[0]}/*", "*/*")
    matching = [(2 - names.index(one.value), _quality(one)) for one in ranges if one.value in names]
    if not matching:
        return 0.0, 0
    precision = max(precision for precision, _ in matching)
    return max(quality for found, quality in matching if found == precision), precision


def _quality(entry: Entry) -> float:
    """Return the quality of a range; 0 for one that can't be read."""
    try:
        return float(entry.parameters.get("q", "1"))
    except ValueError:
        return 0.0
