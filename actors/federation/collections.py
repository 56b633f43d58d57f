"""Reads the collections of other servers: their items are in the collection itself, on its first page, and on the next
pages. Pages are embedded, or have addresses on the collection's host."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ...storage.engine.json_values import JsonObject
from ..activitypub.vocabulary import list_of, object_of, same_host, uri_of
from .errors import FetchFailed, UntrustedDocument

LISTS = ("orderedItems", "items")

FetchPage = Callable[[str], Awaitable[JsonObject]]


@dataclass(slots=True)
class CollectionItems:
    """The items of a collection as far as they could be read, and the error that ended the reading."""

    items: list[object] = field(default_factory=list[object])
    failure: FetchFailed | None = None


async def read_collection(collection: object, host: str, fetch: FetchPage, *, pages: int, most: int) -> CollectionItems:
    """Return the first items of a collection: an address, or the embedded collection or page.

    At most `pages` pages are fetched, all on the host of the URI `host`. It ends with the page that has item number
    `most`.
    """
    read = CollectionItems()
    fetched: set[str] = set()
    part = collection
    try:
        while part is not None and len(read.items) < most:
            page = _embedded(part)
            if page is None:
                uri = _checked(part, host, fetched)
                if len(fetched) == pages:
                    raise UntrustedDocument("the collection has too many pages")
                fetched.add(uri)
                page = await fetch(uri)
            items = items_of(page)
            read.items += items
            part = page.get("next") or (page.get("first") if not items else None)
            # Some servers embed the page that was just fetched.
            if part is page.get("first") and uri_of(part) in fetched:
                part = None
    except FetchFailed as failure:
        read.failure = failure
    del read.items[most:]
    return read


def items_of(page: JsonObject) -> list[object]:
    """Return the items of a collection or of a page, without the items of other pages."""
    return list_of(next((page[name] for name in LISTS if page.get(name) is not None), None))


def _embedded(part: object) -> JsonObject | None:
    """Return a part of a collection if it is embedded with more than its id."""
    page = object_of(part)
    return page if page is not None and any(page.get(name) for name in (*LISTS, "next", "first")) else None


def _checked(part: object, host: str, fetched: set[str]) -> str:
    """Return the address of a part. Raise UntrustedDocument if it was fetched before, or is on another host."""
    uri = uri_of(part)
    if uri is None or uri in fetched or not same_host(uri, host):
        raise UntrustedDocument("the collection goes on elsewhere")
    return uri
