"""Collections and their pages."""

from __future__ import annotations

from collections.abc import Sequence

from ....storage.engine.json_values import JsonObject
from .contexts import PLAIN_CONTEXT, TAGS_CONTEXT, embedded


def collection_of(
    id: str, total: int | None = None, *, first: str | None = None, ordered: bool = True
) -> JsonObject:  # fmt: skip
    """Return a collection without its items. Without `first` it has only its total."""
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


def featured_of(id: str, notes: Sequence[JsonObject]) -> JsonObject:
    """Return the pinned statuses of an actor as whole documents: some servers ignore bare URIs."""
    collection = collection_of(id, len(notes)) | {"@context": _context_of(notes)}
    return collection | {"orderedItems": [embedded(note) for note in notes]}


def featured_tags_of(id: str, hashtags: Sequence[JsonObject]) -> JsonObject:
    """Return the hashtags on the profile of an actor."""
    return collection_of(id, len(hashtags), ordered=False) | {"@context": TAGS_CONTEXT, "items": list(hashtags)}


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
