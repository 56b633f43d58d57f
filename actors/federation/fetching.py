"""Fetches the documents of other servers, with requests signed by this server's actor, and proves their ids.

A document is trusted if the server of its `id` has answered with it, at the requested address or at the end of a
redirect. Otherwise its `id` is fetched, once, and that document must have this `id`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import urljoin

import trio

from ...storage.engine.database import Database
from ...storage.engine.json_values import JsonObject
from ...storage.federation import hosts
from ...storage.federation.hosts import SignatureScheme
from ..activitypub.media_types import PROFILE, links_of, names_document
from ..activitypub.names import LocalNames
from ..activitypub.normalization import read_document
from ..activitypub.uris import same_uri
from ..activitypub.vocabulary import (
    CONTENT_TYPE,
    LARGEST_DOCUMENT,
    MalformedDocument,
    same_host,
    types_of,
    web_uri_of,
)
from ..kernel import Clock
from ..memory.daily_quotas import DailyQuotas
from ..outgoing.client import REDIRECTS, OutgoingAnswer, OutgoingClient, OutgoingRequest, RequestLimits
from ..outgoing.messages import AnswerTooLarge, BadAnswer, ForbiddenTarget, OutgoingFailure
from ..outgoing.targets import RequestTarget, redirected, written_target
from ..own_addresses import OwnAddressReader
from ..rules.domains import DomainRules
from .budgets import DomainLimiter, spend
from .errors import (
    DocumentGone,
    DocumentRefused,
    DocumentUnavailable,
    DocumentUnknown,
    HostNotAllowed,
    LeadsHere,
    ServerUnreachable,
    UnreadableDocument,
    UntrustedDocument,
)

SECONDS = 30.0  # for a document with its redirects
HOPS = 3
LIMITS = RequestLimits(SECONDS, LARGEST_DOCUMENT)  # of a hop

DOCUMENTS = f'application/ld+json; profile="{PROFILE}", {CONTENT_TYPE}'
DOCUMENTS_OR_PAGES = f"{DOCUMENTS}, text/html;q=0.1"
PAGES = ("text/html", "application/xhtml+xml")

# The head of a page names its document.
HEAD_BYTES = 256 * 1024
LINK_TAG = re.compile(r"<link\b(?P<attributes>[^<>]{1,4096})>", re.IGNORECASE)
ATTRIBUTE = re.compile(
    r"""\b(?P<name>[a-z]{1,20})\s?=\s?(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s"';,]+))""", re.IGNORECASE
)

COULD_BE_THE_SCHEME = (400, 401)  # answers to a signature scheme that the server can't read

# Returns the headers that sign a GET of a URL.
SignGet = Callable[[str, SignatureScheme], Awaitable[Mapping[str, str]]]


class DocumentFetcher:
    """Requests documents from other servers. `rules` returns the current standings of domains."""

    def __init__(
        self, client: OutgoingClient, database: Database, clock: Clock, names: LocalNames, sign: SignGet,
        rules: Callable[[], DomainRules], quotas: DailyQuotas,
    ) -> None:  # fmt: skip
        self._client = client
        self._database = database
        self._clock = clock
        self._names = names
        self._own = OwnAddressReader(database, names)
        self._sign = sign
        self._rules = rules
        self._quotas = quotas
        self._limiter = DomainLimiter()

    def may_request(self, url: str) -> bool:
        """True if a request may be sent to the host of a URL: it is another server, and not suspended."""
        try:
            target = written_target(url)
        except ForbiddenTarget:
            return False
        is_own = target.authority == self._names.domain
        return not is_own and not self._rules().standing_of(target.authority).suspended

    async def fetch(self, uri: str) -> JsonObject:
        """Return the document of a URI. Its `id`, which is proven, may be another URI.

        Raise a FetchFailed: DocumentGone also for a Tombstone, which some servers answer with 200.
        """
        return await self._proven(uri, await self._get(uri, DOCUMENTS))

    async def fetch_resource(self, url: str) -> JsonObject:
        """Return the document at an address that a person gave, or the document that the page there names.

        Raise LeadsHere if the other server redirects to a post of this server.
        """
        answer = await self._get(url, DOCUMENTS_OR_PAGES)
        if is_document(answer):
            return await self._proven(url, answer)
        alternate = alternate_of(answer)
        if alternate is None:
            raise UntrustedDocument("the page names no document")
        return await self.fetch(alternate)

    async def fetch_collection(self, url: str) -> JsonObject:
        """Return a collection or a page of it. It needs no id, but the host of `url` must have answered."""
        answer = await self._get(url, DOCUMENTS)
        if not same_host(url, answer.url):
            raise UntrustedDocument("another host has answered")
        return await self._with_uris(_document_of(answer))

    async def request(self, url: str, accept: str) -> OutgoingAnswer:
        """Return an answer of any content type, to a request that is not signed. Raise a FetchFailed."""
        return _checked(await self._within_limits(url, accept, None))

    async def _proven(self, uri: str, answer: OutgoingAnswer) -> JsonObject:
        document = _document_of(answer)
        id = _id_of(document)
        if (same_uri(id, uri) or same_uri(id, answer.url)) and same_host(id, answer.url):
            if "Tombstone" in types_of(document):
                raise DocumentGone("the server answers with a tombstone")
            return await self._with_uris(document)
        answer = await self._get(id, DOCUMENTS)
        document = _document_of(answer)
        if same_uri(_id_of(document), id) and same_host(id, answer.url):
            return await self._with_uris(document)
        raise UntrustedDocument("the document does not name itself")

    async def _with_uris(self, document: JsonObject) -> JsonObject:
        """Return a document after its addresses of this server were replaced by URIs."""
        await self._own.put_uris(document)
        return document

    async def _get(self, url: str, accept: str) -> OutgoingAnswer:
        """Request with the known signature scheme. If the server can't read it, try the other scheme, and store if that
        works."""
        host = _host(url)
        scheme = await self._database.read(hosts.scheme_of, host)
        answer = await self._within_limits(url, accept, scheme)
        if answer.status in COULD_BE_THE_SCHEME:
            scheme = "cavage" if scheme == "rfc9421" else "rfc9421"
            answer = await self._within_limits(url, accept, scheme)
            if answer.status == 200 and self._quotas.take("schemes", host):
                await self._database.transact(hosts.remember_scheme, host, scheme, self._clock.now())
        return _checked(answer)

    async def _within_limits(self, url: str, accept: str, scheme: SignatureScheme | None) -> OutgoingAnswer:
        try:
            with trio.move_on_after(SECONDS):
                async with self._limiter.place(_host(url)):
                    return await self._follow(url, accept, scheme)
        except ForbiddenTarget as error:
            raise HostNotAllowed(str(error)) from error
        except AnswerTooLarge as error:
            raise UnreadableDocument(str(error)) from error
        except OutgoingFailure as error:
            raise ServerUnreachable(str(error)) from error
        raise ServerUnreachable("no answer in time")

    async def _follow(self, url: str, accept: str, scheme: SignatureScheme | None) -> OutgoingAnswer:
        """Send a request, and follow redirects. A request to another host than the first is not signed."""
        target = first = self._allowed(url)
        for _ in range(HOPS + 1):
            headers = {"Accept": accept}
            if scheme is not None and target.authority == first.authority:
                headers |= await self._sign(target.url, scheme)
            spend()
            answer = await self._client.send(OutgoingRequest("GET", target.url, headers), LIMITS)
            if answer.status not in REDIRECTS:
                return answer
            if (location := answer.headers.get("location")) is None:
                raise BadAnswer("the redirect leads nowhere")
            target = redirected(target, location, self._allowed)
        raise AnswerTooLarge("too many redirects")

    def _allowed(self, url: str) -> RequestTarget:
        if self._names.is_local(url):
            raise LeadsHere(url)
        if not self.may_request(url):
            raise ForbiddenTarget("requests to this host are not allowed")
        return written_target(url)


def is_document(answer: OutgoingAnswer) -> bool:
    """True for the two content types of ActivityPub. Servers never serve uploaded files with them."""
    return names_document(answer.headers.get("content-type", ""))


def alternate_of(answer: OutgoingAnswer) -> str | None:
    """Return the address of the document that a page names, in a header or in its head."""
    for link in links_of(answer.headers.get("link", "")):
        if _is_alternate(link.parameters):
            return _absolute(answer.url, link.value)
    if not _is_page(answer):
        return None
    for tag in LINK_TAG.finditer(answer.body[:HEAD_BYTES].decode("utf-8", "replace")):
        attributes = _attributes(tag["attributes"])
        if _is_alternate(attributes) and attributes.get("href"):
            return _absolute(answer.url, attributes["href"].strip())
    return None


def _absolute(base: str, address: str) -> str | None:
    try:
        return urljoin(base, address)
    except ValueError:
        return None


def _is_page(answer: OutgoingAnswer) -> bool:
    return answer.headers.get("content-type", "").lower().startswith(PAGES)


def _is_alternate(link: Mapping[str, str]) -> bool:
    return "alternate" in link.get("rel", "").lower().split() and names_document(link.get("type", ""))


def _attributes(text: str) -> dict[str, str]:
    return {
        found["name"].lower(): html.unescape(found["double"] or found["single"] or found["bare"] or "")
        for found in ATTRIBUTE.finditer(text)
    }


def _host(url: str) -> str:
    try:
        return written_target(url).authority
    except ForbiddenTarget as error:
        raise HostNotAllowed(str(error)) from error


def _checked(answer: OutgoingAnswer) -> OutgoingAnswer:
    """Return an answer with status 200. Raise a FetchFailed for all others."""
    match answer.status:
        case 200:
            return answer
        case 404:
            raise DocumentUnknown("the server answers 404")
        case 410:
            raise DocumentGone("the server answers 410")
        case 408 | 425 | 429:
            raise DocumentUnavailable(f"the server answers {answer.status}")
        case status if status >= 500:
            raise DocumentUnavailable(f"the server answers {status}")
        case status:
            raise DocumentRefused(f"the server answers {status}")


def _document_of(answer: OutgoingAnswer) -> JsonObject:
    if _is_page(answer):
        raise UnreadableDocument("the answer is a page")
    if not is_document(answer):
        raise UntrustedDocument("the answer is of another content type")
    try:
        return read_document(answer.body)
    except MalformedDocument as error:
        raise UnreadableDocument(str(error)) from error


def _id_of(document: JsonObject) -> str:
    id = web_uri_of(document)
    if id is None or not id.isascii() or not id.isprintable():  # an index holds 2,048 letters of ASCII, and no more
        raise UntrustedDocument("the document has no usable id")
    return id
