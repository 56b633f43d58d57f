"""Content negotiation: whether a client wants the document of a thing, as other servers do, or the page, or JSON."""

from __future__ import annotations

from .request import Request

DOCUMENTS = frozenset({"application/activity+json", "application/ld+json"})
JSON = "application/json"
TEXTS = frozenset({"text/plain", "text/html"})
PAGES = frozenset({"text/html", "application/xhtml+xml"})


def asks_for_document(request: Request) -> bool:
    """True if a request names one of the types of ActivityPub and likes no page better."""
    accept = request.header(b"accept")
    if accept is None or "json" not in accept:
        return False
    wanted = [_read(one) for one in accept.split(",")]
    document = max((quality for kind, quality in wanted if kind in DOCUMENTS), default=0.0)
    page = max((quality for kind, quality in wanted if kind in PAGES), default=0.0)
    return document > 0 and document >= page


def asks_for_json(request: Request) -> bool:
    """True if a request names JSON and likes no text better. `*/*` names nothing."""
    wanted = [_read(one) for one in (request.header(b"accept") or "").split(",")]
    data = max((quality for kind, quality in wanted if kind == JSON), default=0.0)
    text = max((quality for kind, quality in wanted if kind in TEXTS), default=0.0)
    return data > 0 and data >= text


def _read(entry: str) -> tuple[str, float]:
    """Return a type in a header Accept, without its profile, and its quality."""
    kind, *parameters = entry.split(";")
    qualities = [value for name, _, value in (one.partition("=") for one in parameters) if name.strip().lower() == "q"]
    try:
        return kind.strip().lower(), float(qualities[0]) if qualities else 1.0
    except ValueError:
        return kind.strip().lower(), 0.0
