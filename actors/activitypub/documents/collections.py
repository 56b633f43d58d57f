"""Collections and their pages."""

from __future__ import annotations

from collections.abc import Sequence

from ....storage.engine.json_values import JsonObject
from .contexts import PLAIN_CONTEXT, embedded


def collection_of(
    id: str, total: int | None = None, *, first: str | None = None, ordered: bool = True
) -> JsonObject:  # fmt: skip
    """Return a collection without its items. Without `first` nothing but the total is told of it."""
    collection: JsonObject = {
        "@context": PLAIN_CONTEXT,
        "id": id,
        "type": "OrderedCollection" if ordered else "Collection",
    }
    if total is not None:
        collection["totalItems"] = total
    if first is not None:
        collection["first"] = first
    return collection


def whole_collection_of(id: str, items: Sequence[JsonObject], *, ordered: bool = True) -> JsonObject:
    """Return a short collection with all its documents."""
    collection = collection_of(id, len(items), ordered=ordered)
    collection["orderedItems" if ordered else "items"] = [embedded(item) for item in items]
    return collection | {"@context": _context_of(items)}


def collection_page_of(
    id: str,
    collection: str,
    items: Sequence[JsonObject | str],
    *,
    next: str | None = None,
    previous: str | None = None,
    ordered: bool = True,
) -> JsonObject:
    """Return a page of a collection: documents, or URIs alone."""
    page: JsonObject = {
        "@context": _context_of([item for item in items if isinstance(item, dict)]),
        "id": id,
        "type": "OrderedCollectionPage" if ordered else "CollectionPage",
        "partOf": collection,
        "orderedItems" if ordered else "items": [
            embedded(item) if isinstance(item, dict) else item for item in items
        ],
    }  # fmt: skip
    if next is not None:
        page["next"] = next
    if previous is not None:
        page["prev"] = previous
    return page


def _context_of(items: Sequence[JsonObject]) -> object:
    """Return the richest context of some documents: an outbox has Creates with notes beside plain Announces."""
    contexts = [item["@context"] for item in items if "@context" in item]
    return max(contexts, key=lambda context: isinstance(context, list), default=PLAIN_CONTEXT)
