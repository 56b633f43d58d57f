"""The spelling of URIs: in ASCII where they are stored and sent, and in one normal form where they are compared."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, quote, unquote, unquote_to_bytes, urlsplit

import idna

PORTS = {"https": 443, "http": 80}
AUTHORITY_END = re.compile(r"[/?#]")
LONGEST_HOST = 253
# Each byte in the spelling of URIs: bytes beyond ASCII are percent-encoded.
SPELLED = [chr(byte) if byte < 128 else f"%{byte:02X}" for byte in range(256)]
# Characters of ASCII that no URI has (RFC 3986): the space, control characters and some others.
FORBIDDEN = re.compile(r'[\x00-\x20"<>\\^`{|}\x7f]')
TRIPLETS = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
UNRESERVED = "-._~"


def percent_encoded(uri: str) -> str:
    """Return a URI in ASCII: other characters are percent-encoded, as RFC 3987 maps them. This is cheap enough for all
    the URIs of a document: `urllib` takes three times as long."""
    if uri.isascii():
        return uri
    return "".join(map(SPELLED.__getitem__, uri.encode("utf-8", "surrogatepass")))


def ascii_uri(uri: str) -> str:
    """Return a URI in ASCII that requests can be sent to: its host is encoded for DNS, which knows no percent-encoding.

    It takes up to half a millisecond if the host has characters beyond ASCII.
    """
    encoded = percent_encoded(uri)
    if "%" not in encoded:
        return encoded
    start, slashes, rest = encoded.partition("://")
    host = AUTHORITY_END.split(rest, maxsplit=1)[0] if slashes else ""
    return f"{start}://{_ascii_host(host)}{rest[len(host) :]}" if "%" in host else encoded


def web_address(url: str) -> str:
    """Return the address of a page or file as apps can read it: in ASCII, without characters that no URI has.

    The decoders of some apps refuse a whole page of posts because of one address in other characters. A host is
    percent-encoded too, which browsers understand: encoding for DNS takes too long for all addresses of a page.
    """
    return FORBIDDEN.sub(lambda found: f"%{ord(found[0]):02X}", percent_encoded(url))


def maybe_web_address(url: str | None) -> str | None:
    return None if url is None else web_address(url)


def same_uri(first: str | None, second: str | None) -> bool:
    """True if two URIs differ at most in their spelling: the case of the host, its default port, percent-encoding."""
    if first is None or second is None:
        return False
    return first == second or normal_uri(first) == normal_uri(second)


def normal_uri(uri: str) -> str:
    """Return the normal form of a URI by RFC 3986, section 6.2.2. It is for comparisons only, and never sent."""
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
    """Decode the unreserved characters, and write all other escapes in capitals."""
    return quote(unquote_to_bytes(found[0]), safe=UNRESERVED)


def _ascii_host(host: str) -> str:
    """Return a percent-encoded host in the encoding of DNS. A text that can't be a name is returned unchanged."""
    name, colon, port = unquote(host).partition(":")
    try:
        return f"{idna.encode(name, uts46=True).decode()}{colon}{port}" if len(name) <= LONGEST_HOST else host
    except idna.IDNAError:
        return host
