"""The client of WebFinger: which actor a handle belongs to, as the server in the handle says.

The domain of a handle may be another one than the actor's host: then one server's answer names the handle at another,
which must name itself.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from urllib.parse import quote

from ...storage.engine.json_values import JsonObject
from ..activitypub.vocabulary import (
    CONTENT_TYPE,
    LONGEST_URI,
    MalformedDocument,
    host_of,
    json_object,
    objects_of,
    text_of,
)
from ..rules.identity import domain_of
from .errors import DocumentGone, DocumentMissing, UntrustedDocument
from .fetching import PROFILE, DocumentFetcher

ACCEPT = "application/jrd+json, application/json"
ACCEPT_HOST_META = "application/xrd+xml, application/xml, text/xml"
SELF_TYPES = frozenset({CONTENT_TYPE, f'application/ld+json; profile="{PROFILE}"'})

LONGEST_USERNAME = 2048
# The rule of Mastodon: dots and hyphens stand inside.
USERNAME = re.compile(r"[A-Za-z0-9_]++(?:[.-]++[A-Za-z0-9_]++)*+")

LARGEST_HOST_META = 64 * 1024
XRD_LINK = re.compile(r"<(?:\w{1,20}:)?Link\b(?P<attributes>[^<>]{1,4096})>")
ATTRIBUTE = re.compile(r"""\b(?P<name>rel|template)\s?=\s?(?P<quote>["'])(?P<value>[^"']{1,2048})(?P=quote)""")


@dataclass(frozen=True, slots=True)
class Handle:
    """A name and the domain that gives it, in lower-case ASCII."""

    username: str
    domain: str

    def is_same(self, other: Handle) -> bool:
        """True for two spellings of one handle."""
        return self.domain == other.domain and self.username.lower() == other.username.lower()


@dataclass(frozen=True, slots=True)
class HandleProof:
    """A handle, and the actor that the server of its domain names for it."""

    handle: Handle
    actor_uri: str


def handle_from(username: str, domain: str) -> Handle | None:
    """Return a handle of another server in its one spelling. None for names that can't be one."""
    known = domain_of(domain)
    if known is None or len(username) > LONGEST_USERNAME or USERNAME.fullmatch(username) is None:
        return None
    return Handle(username, known)


class WebFinger:
    """Looks handles up at the servers of their domains."""

    def __init__(self, fetcher: DocumentFetcher) -> None:
        self._fetcher = fetcher

    async def find(self, handle: Handle) -> HandleProof:
        """Return the handle as its server spells it, and its actor. Raise one of the errors of this package."""
        answer = await self._ask(handle)
        named = _subject(answer)
        if not named.is_same(handle):
            answer = await self._ask(named)
            if not _subject(answer).is_same(named):
                raise UntrustedDocument("the answer is about another handle")
        return HandleProof(_subject(answer), _actor_uri(answer))

    async def _ask(self, handle: Handle) -> JsonObject:
        resource = quote(f"acct:{handle.username}@{handle.domain}", safe="")
        origin = origin_of(handle.domain)
        try:
            answer = await self._fetcher.ask(f"{origin}/.well-known/webfinger?resource={resource}", ACCEPT)
        except DocumentGone:
            raise
        except DocumentMissing:
            template = await self._template(origin)
            answer = await self._fetcher.ask(template.replace("{uri}", resource), ACCEPT)
        return jrd_of(answer.body)

    async def _template(self, origin: str) -> str:
        """Return the address of WebFinger as the server's host-meta has it."""
        answer = await self._fetcher.ask(f"{origin}/.well-known/host-meta", ACCEPT_HOST_META)
        for link in XRD_LINK.finditer(answer.body[:LARGEST_HOST_META].decode("utf-8", "replace")):
            attributes = {one["name"]: html.unescape(one["value"]) for one in ATTRIBUTE.finditer(link["attributes"])}
            if attributes.get("rel") == "lrdd" and "{uri}" in attributes.get("template", ""):
                return attributes["template"]
        raise DocumentMissing("the server has no WebFinger")


def origin_of(domain: str) -> str:
    """Return where a domain is asked. Only a test host has a port, and may be asked without TLS."""
    return f"http://{domain}" if ":" in domain else f"https://{domain}"


def jrd_of(body: bytes) -> JsonObject:
    """Return the object of an answer, read within the bounds of a document. Raise UntrustedDocument for another one."""
    try:
        return json_object(body)
    except MalformedDocument as error:
        raise UntrustedDocument(str(error)) from None


def _subject(answer: JsonObject) -> Handle:
    """Return the handle that an answer is about."""
    subject = text_of(answer.get("subject"), LONGEST_URI * 2) or ""
    username, _, domain = subject.removeprefix("acct:").removeprefix("@").partition("@")
    handle = handle_from(username, domain)
    if handle is None:
        raise UntrustedDocument("the answer is about no handle")
    return handle


def _actor_uri(answer: JsonObject) -> str:
    """Return the actor that an answer names. One with links of removed protocols alone names none."""
    for link in objects_of(answer.get("links")):
        uri = link.get("href")
        if link.get("rel") == "self" and link.get("type") in SELF_TYPES and isinstance(uri, str):
            if host_of(uri) is None or len(uri) > LONGEST_URI:
                break
            return uri
    raise UntrustedDocument("the answer names no actor")
