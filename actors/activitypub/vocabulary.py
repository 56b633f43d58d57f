"""Documents of other servers: ActivityStreams 2.0, read as plain JSON after `normalization.py`.

JSON-LD is never expanded. Documents with `@graph`, `@included` or `@reverse` are refused, because they could have
another meaning for a reader that expands them.
"""

from __future__ import annotations

from typing import TypeGuard
from urllib.parse import urlsplit

import orjson

from ...storage.engine.json_values import JsonObject, is_list, is_object
from .uris import PORTS, ascii_uri, percent_encoded

CONTENT_TYPE = "application/activity+json"
PUBLIC = "https://www.w3.org/ns/activitystreams#Public"
LARGEST_DOCUMENT = 1024 * 1024  # bytes
MOST_VALUES = 100_000  # of a document, counted by its punctuation: reading them takes time
MOST_CONTAINERS = 10_000  # objects and lists among them, which take longer than other values
# Elements of a list that are kept: tags or addressees, for example. No server writes more. A document could have tens
# of thousands, and the list is searched for each kind of object.
MOST_ELEMENTS = 2_000
DEEPEST = 32
LONGEST_URI = 2048
CONTAINERS = frozenset({dict, list})
RESHAPING = frozenset({"@graph", "@included", "@reverse"})


class MalformedDocument(Exception):
    """Raised for a document that can't be read, or lacks a required property."""


class UnreadableJson(MalformedDocument):
    """Raised for a body that the JSON parser refuses."""


def json_object(body: bytes) -> JsonObject:
    """Return the JSON object of a body. Raise MalformedDocument if it is no object, or too large."""
    if len(body) > LARGEST_DOCUMENT:
        raise MalformedDocument("the document is too large")
    if len(body) > MOST_CONTAINERS:  # a smaller body can't have more
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


def list_of(value: object) -> list[object]:
    """Return the values of a property, which may have a list, a single value or no value."""
    if value is None:
        return []
    return value if is_list(value) else [value]


def uri_of(value: object) -> str | None:
    """Return the URI of a thing that a string names, or that is embedded as an object with an `id`.

    Characters beyond ASCII are percent-encoded: rows and other servers have this spelling.
    """
    if is_object(value):
        value = value.get("id")
    if not is_uri(value):
        return None
    uri = percent_encoded(value)
    return uri if len(uri) <= LONGEST_URI else None


def web_uri_of(value: object) -> str | None:
    """Return the URI of a thing as `uri_of` does, with its host encoded for DNS. It is too slow for all URIs of a
    document."""
    uri = uri_of(value)
    return None if uri is None else ascii_uri(uri)


def is_uri(value: object) -> TypeGuard[str]:
    """True for a text that may be a URI, and that rows and their indexes can hold."""
    return isinstance(value, str) and value.isprintable() and 0 < len(value.encode()) <= LONGEST_URI


def uris_of(value: object) -> list[str]:
    """Return the URIs of one or more things, each once."""
    return list(dict.fromkeys(uri for thing in list_of(value) if (uri := uri_of(thing)) is not None))


def object_of(value: object) -> JsonObject | None:
    """Return an embedded object; None for a string and other values."""
    return value if is_object(value) else None


def objects_of(value: object) -> list[JsonObject]:
    """Return the embedded objects among one or more values."""
    return [element for element in list_of(value) if is_object(element)]


def types_of(document: JsonObject) -> list[str]:
    """Return the types of a document. Most have one."""
    return document.get("type", [])


def text_of(value: object, most: int) -> str | None:
    """Return at most `most` characters of a text, without NUL, which no row can hold; None if it is no text."""
    if not isinstance(value, str):
        return None
    return value.replace("\0", "")[:most]


def host_of(uri: str) -> str | None:
    """Return the host of a web address in lower case, with its port unless it is the default port; None if it is no web
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


def same_host(first: str, second: str) -> bool:
    """True if two URIs have the same host, which is the unit of trust."""
    host = host_of(first)
    return host is not None and host == host_of(second)


def refuse_reshaping(thing: JsonObject) -> None:
    """Raise MalformedDocument for an object that has another meaning for a reader that expands JSON-LD."""
    if not RESHAPING.isdisjoint(thing):
        raise MalformedDocument("the document reshapes JSON-LD")


def check_shape(value: object) -> None:
    """Raise MalformedDocument for a value that reshapes JSON-LD or is nested too deeply. Without recursion."""
    outer: list[object] = [value]
    for _ in range(DEEPEST):
        inner: list[object] = []
        for container in outer:
            if is_object(container):
                refuse_reshaping(container)
                inner += [value for value in container.values() if type(value) in CONTAINERS]
            elif is_list(container):
                inner += [value for value in container if type(value) in CONTAINERS]
        if not inner:
            return
        outer = inner
    raise MalformedDocument("the document is nested too deeply")
