"""Documents of other servers: ActivityStreams 2.0, read as plain JSON in the one form of `door.py`.

JSON-LD is never expanded. What could give a document another meaning for a reader that expands it (`@graph`,
`@included`, `@reverse`) is refused.
"""

from __future__ import annotations

from typing import Any, TypeGuard
from urllib.parse import urlsplit

import orjson

from ...storage.engine.json_values import JsonObject
from .uris import PORTS, ascii_uri, percent_encoded

CONTENT_TYPE = "application/activity+json"
PUBLIC = "https://www.w3.org/ns/activitystreams#Public"
LARGEST_DOCUMENT = 1024 * 1024  # bytes
MOST_VALUES = 100_000  # of a document, as far as its punctuation tells: looking through them takes time
MOST_CONTAINERS = 10_000  # objects and lists among them, which take longer than other values
# Of a list in a document, as many are kept: objects such as tags, and URIs such as addressees. No server writes more,
# and a document could have tens of thousands, which are looked through for each kind of object.
MOST_ELEMENTS = 2_000
DEEPEST = 32
LONGEST_URI = 2048
CONTAINERS = frozenset({dict, list})
RESHAPING = frozenset({"@graph", "@included", "@reverse"})


class MalformedDocument(Exception):
    """Raised for a document that can't be read, or lacks what it must have."""


class UnreadableJson(MalformedDocument):
    """Raised for a body that the JSON parser refuses."""


def json_object(body: bytes) -> JsonObject:
    """Return the JSON object of a body. Raise MalformedDocument if it is none, or too large."""
    if len(body) > LARGEST_DOCUMENT:
        raise MalformedDocument("the document is too large")
    if len(body) > MOST_CONTAINERS:  # a smaller one has no room for more
        containers = body.count(b"[") + body.count(b"{")
        if containers > MOST_CONTAINERS or body.count(b",") + containers > MOST_VALUES:
            raise MalformedDocument("the document has too many values")
    try:
        document: object = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise UnreadableJson("the document is not JSON") from None
    if not is_object(document):
        raise MalformedDocument("the document is not an object")
    return document


def is_object(value: object) -> TypeGuard[JsonObject]:
    """True for a JSON object: its keys are texts."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:  # its elements are as JSON has them
    """True for a JSON array."""
    return isinstance(value, list)


# `Any`: elements are as JSON has them.
def list_of(value: object) -> list[Any]:
    """Return the values of a property that has one or more of them, or none."""
    if value is None:
        return []
    return value if is_list(value) else [value]


def uri_of(value: object) -> str | None:
    """Return the URI of a thing that a string names, or that is embedded as an object with an `id`.

    One with other characters than those of ASCII is percent-encoded: rows and other servers know it in that spelling.
    """
    if is_object(value):
        value = value.get("id")
    if not is_uri(value):
        return None
    uri = percent_encoded(value)
    return uri if len(uri) <= LONGEST_URI else None


def web_uri_of(value: object) -> str | None:
    """Return the URI of a thing as `uri_of` does, with its host as DNS has it. It is meant for single URIs."""
    uri = uri_of(value)
    return None if uri is None else ascii_uri(uri)


def is_uri(value: object) -> TypeGuard[str]:
    """True for a text that may be a URI, and that rows and their indexes can hold."""
    return isinstance(value, str) and value.isprintable() and 0 < len(value.encode()) <= LONGEST_URI


def uris_of(value: object) -> list[str]:
    """Return the URIs of one or more things, each once."""
    return list(dict.fromkeys(uri for one in list_of(value) if (uri := uri_of(one)) is not None))


def object_of(value: object) -> JsonObject | None:
    """Return an embedded object; None for a string and other values."""
    return value if is_object(value) else None


def objects_of(value: object) -> list[JsonObject]:
    """Return the embedded objects among one or more values."""
    return [one for one in list_of(value) if is_object(one)]


def types_of(document: JsonObject) -> list[str]:
    """Return the types of a document. Most have one."""
    return document.get("type", [])


def text_of(value: object, most: int) -> str | None:
    """Return a text, cut to so many characters and freed of characters that no row can hold; None if it is none."""
    if not isinstance(value, str):
        return None
    return value.replace("\0", "")[:most]


def host_of(uri: str) -> str | None:
    """Return the host of a web address in lower case, with its port if that is not the usual one; None if it is no web
    address."""
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in ("https", "http") or not host or parts.username is not None:
        return None
    return host.rstrip(".") if port in (None, PORTS[parts.scheme]) else f"{host.rstrip('.')}:{port}"


def origin_of(uri: str) -> str | None:
    """Return the scheme and the host of a web address, such as `https://troupe.test`; None if it is no web address."""
    host = host_of(uri)
    return None if host is None else f"{urlsplit(uri).scheme}://{host}"


def same_host(one: str, other: str) -> bool:
    """True if two URIs are of one host: the unit of trust."""
    host = host_of(one)
    return host is not None and host == host_of(other)


def refuse_reshaping(thing: JsonObject) -> None:
    """Raise MalformedDocument for an object that has another meaning for a reader that expands JSON-LD."""
    if not RESHAPING.isdisjoint(thing):
        raise MalformedDocument("the document reshapes JSON-LD")


def check_shape(value: object) -> None:
    """Raise MalformedDocument for a value that reshapes JSON-LD or is nested too deeply. Without recursion."""
    outer: list[Any] = [value]  # objects and lists with any values in them
    for _ in range(DEEPEST):
        inner: list[Any] = []  # as above
        for one in outer:
            if is_object(one):
                refuse_reshaping(one)
                inner += [value for value in one.values() if type(value) in CONTAINERS]
            elif is_list(one):
                inner += [value for value in one if type(value) in CONTAINERS]
        if not inner:
            return
        outer = inner
    raise MalformedDocument("the document is nested too deeply")
