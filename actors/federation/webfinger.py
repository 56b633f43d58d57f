"""The client of WebFinger: finds the actor that the server in a handle names for it.

The domain of a handle may differ from the actor's host: then a server's answer names the handle on another server,
whose own answer must name this handle.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from ...storage.engine.json_values import JsonObject
from ..activitypub.media_types import names_document
from ..activitypub.uris import ascii_uri
from ..activitypub.vocabulary import (
    LONGEST_URI,
    MalformedDocument,
    host_of,
    json_object,
    list_of,
    objects_of,
    text_of,
)
from ..rules.identity import domain_of
from .errors import DocumentGone, DocumentMissing, UntrustedDocument
from .fetching import DocumentFetcher

ACCEPT = "application/jrd+json, application/json"
ACCEPT_HOST_META = "application/xrd+xml, application/xml, text/xml"

LONGEST_USERNAME = 2048
# The rule of Mastodon: no dots and hyphens at the beginning or end.
USERNAME = re.compile(r"[A-Za-z0-9_]++(?:[.-]++[A-Za-z0-9_]++)*+")

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MOST_ALIASES = 20  # that are read
LARGEST_XRD = 64 * 1024
XRD_SUBJECT = re.compile(r"<(?:\w{1,20}:)?Subject\b[^<>]{0,200}>(?P<text>[^<>]{1,4096})<")
XRD_LINK = re.compile(r"<(?:\w{1,20}:)?Link\b(?P<attributes>[^<>]{1,4096})>")
ATTRIBUTE = re.compile(
    r"""\b(?P<name>rel|type|href|template)\s?=\s?(?:"(?P<double>[^"]{1,2048})"|'(?P<single>[^']{1,2048})')"""
)


@dataclass(frozen=True, slots=True)
class Handle:
    """A name and the domain that gives it, in lower-case ASCII."""

    username: str
    domain: str

    def is_same(self, other: Handle) -> bool:
        """True for two spellings of the same handle."""
        return self.domain == other.domain and self.username.lower() == other.username.lower()


@dataclass(frozen=True, slots=True)
class HandleProof:
    """A handle, and the actor that the server of its domain names for it."""

    handle: Handle
    actor_uri: str


def handle_from(username: str, domain: str) -> Handle | None:
    """Return a handle of another server in its normal spelling; None if the name is not valid."""
    known = domain_of(domain)
    if known is None or len(username) > LONGEST_USERNAME or USERNAME.fullmatch(username) is None:
        return None
    return Handle(username, known)


class WebFinger:
    """Looks up handles on the servers of their domains."""

    def __init__(self, fetcher: DocumentFetcher) -> None:
        self._fetcher = fetcher

    async def find(self, handle: Handle) -> HandleProof:
        """Return the handle as its server spells it, and its actor. Raise a FetchFailed."""
        answer = await self._request(handle)
        named = _subject(answer, handle)
        if not named.is_same(handle):
            answer = await self._request(named)
            if not _subject(answer, named).is_same(named):
                raise UntrustedDocument("the answer is about another handle")
            named = _subject(answer, named)
        return HandleProof(named, _actor_uri(answer))

    async def _request(self, handle: Handle) -> JsonObject:
        resource = quote(f"acct:{handle.username}@{handle.domain}", safe="")
        origin = origin_of(handle.domain)
        try:
            answer = await self._fetcher.request(f"{origin}/.well-known/webfinger?resource={resource}", ACCEPT)
        except DocumentGone:
            raise
        except DocumentMissing:
            template = await self._template(origin)
            answer = await self._fetcher.request(template.replace("{uri}", resource), ACCEPT)
        return resource_of(answer.body)

    async def _template(self, origin: str) -> str:
        """Return the address of WebFinger from the server's host-meta."""
        answer = await self._fetcher.request(f"{origin}/.well-known/host-meta", ACCEPT_HOST_META)
        for link in objects_of(resource_of(answer.body).get("links")):
            template = text_of(link.get("template"), LONGEST_URI) or ""
            if _has_relation(link, "lrdd") and "{uri}" in template:
                return template
        raise DocumentMissing("the server has no WebFinger")


def origin_of(domain: str) -> str:
    """Return the origin for requests to a domain. Only a test host has a port, and may lack TLS."""
    return f"http://{domain}" if ":" in domain else f"https://{domain}"


def resource_of(body: bytes) -> JsonObject:
    """Return the JRD of an answer, which is JSON or, from older servers, XML (XRD).

    The limits of documents apply. Raise UntrustedDocument if it can't be read.
    """
    if body.lstrip()[:1] == b"<":
        return _xrd_of(body[:LARGEST_XRD].decode("utf-8", "replace"))
    try:
        return json_object(body.removeprefix(BYTE_ORDER_MARK))
    except MalformedDocument as error:
        raise UntrustedDocument(str(error)) from None


def _xrd_of(text: str) -> JsonObject:
    """Return an XRD as an equivalent JRD. Its elements are found by patterns, without an XML parser."""
    subject = XRD_SUBJECT.search(text)
    links = [
        {
            found["name"]: html.unescape(found["double"] or found["single"])
            for found in ATTRIBUTE.finditer(link["attributes"])
        }
        for link in XRD_LINK.finditer(text)
    ]
    return {"links": links} | ({} if subject is None else {"subject": html.unescape(subject["text"]).strip()})


def _subject(answer: JsonObject, asked: Handle) -> Handle:
    """Return the handle that an answer is about: its subject or, if the subject is no handle, an alias.

    An answer without a subject is about the requested handle.
    """
    names = (answer.get("subject"), *list_of(answer.get("aliases"))[:MOST_ALIASES])
    handles = (handle_in(name) for name in names)
    handle = next((handle for handle in handles if handle is not None), None if "subject" in answer else asked)
    if handle is None:
        raise UntrustedDocument("the answer is about no handle")
    return handle


def handle_in(name: object) -> Handle | None:
    """Return the handle in an address such as `acct:eve@peer.test` or `eve@peer.test`. None for other values."""
    text = unquote(text_of(name, LONGEST_URI * 2) or "").strip()
    scheme, colon, rest = text.partition(":")
    handle = rest if colon and scheme.lower() == "acct" else text
    username, _, domain = handle.removeprefix("@").partition("@")
    return handle_from(username, domain)


def _actor_uri(answer: JsonObject) -> str:
    """Return the first actor that an answer names. An answer that has only links of older protocols names none.

    Some servers leave the type out, and some answer with the actor's document itself.
    """
    links = [link for link in objects_of(answer.get("links")) if _has_relation(link, "self")]
    typed = [link for link in links if names_document(text_of(link.get("type"), LONGEST_URI) or "")]
    untyped = [link for link in links if "type" not in link]
    own = [{"href": answer.get("id")}] if "inbox" in answer else []
    for link in (*typed, *untyped, *own):
        uri = link.get("href")
        if isinstance(uri, str) and host_of(uri) is not None and len(uri) <= LONGEST_URI:
            return ascii_uri(uri)
    raise UntrustedDocument("the answer names no actor")


def _has_relation(link: JsonObject, relation: str) -> bool:
    return relation in (text_of(link.get("rel"), LONGEST_URI) or "").lower().split()
