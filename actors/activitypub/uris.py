"""The spelling of URIs: in ASCII where they are stored and sent, and in one normal form where they are compared."""

from __future__ import annotations

import re
from string import punctuation
from urllib.parse import SplitResult, quote, unquote, unquote_to_bytes, urlsplit

import idna

PORTS = {"https": 443, "http": 80}
AUTHORITY_END = re.compile(r"[/?#]")
TRIPLETS = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
UNRESERVED = "-._~"


def ascii_uri(uri: str) -> str:
    """Return a URI in ASCII, as RFC 3987 maps one with other characters (an IRI): the path is percent-encoded, and the
    host is encoded for DNS, which knows no percent-encoding. Another URI is not changed."""
    if uri.isascii() and "%" not in uri:
        return uri
    start, slashes, rest = uri.partition("://")
    host = AUTHORITY_END.split(rest, maxsplit=1)[0] if slashes else ""
    if uri.isascii() and "%" not in host:
        return uri
    encoded = quote(rest[len(host) :] if slashes else start, safe=punctuation)
    return f"{start}://{_ascii_host(host)}{encoded}" if slashes else encoded


def same_uri(one: str | None, other: str | None) -> bool:
    """True if two URIs are the same one in two spellings: the case of the host, its default port, percent-encoding."""
    if one is None or other is None:
        return False
    return one == other or normal_uri(one) == normal_uri(other)


def normal_uri(uri: str) -> str:
    """Return the normal form of a URI by RFC 3986, section 6.2.2. It is for comparing: no server has to know it."""
    try:
        parts = urlsplit(ascii_uri(uri))
        port = parts.port
    except ValueError:
        return uri
    host = (parts.hostname or "").rstrip(".")
    if port is not None and port != PORTS.get(parts.scheme):
        host = f"{host}:{port}"
    path = TRIPLETS.sub(_normal_triplets, parts.path or "/")
    query, fragment = (TRIPLETS.sub(_normal_triplets, text) for text in (parts.query, parts.fragment))
    return SplitResult(parts.scheme, host, path, query, fragment).geturl()


def _normal_triplets(found: re.Match[str]) -> str:
    """Decode what needs no encoding, and write the rest in capitals."""
    return quote(unquote_to_bytes(found[0]), safe=UNRESERVED)


def _ascii_host(host: str) -> str:
    name, colon, port = unquote(host).partition(":")
    try:
        return f"{name if name.isascii() else idna.encode(name, uts46=True).decode()}{colon}{port}"
    except idna.IDNAError:
        return quote(host, safe=punctuation)
