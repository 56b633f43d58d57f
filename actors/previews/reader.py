"""Fetches a page, its oEmbed answer and its image, with the client for outgoing requests.

The page is read and the image decoded by confined processes.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from io import BytesIO

import orjson
import trio

from ...storage.engine.json_values import is_object
from ...storage.preview_cards import CardFacts
from ..effects.previews import PageNotRead
from ..effects.registry import NotTried
from ..kernel import Clock, NotAnswered
from ..media.jobs import FileRefused
from ..media.kinds import IMAGES
from ..media.page_facts import PageFacts
from ..media.process import ProcessingFailed
from ..media.processor import MediaProcessor, TooManyUploads
from ..outgoing.breaker import Breaker
from ..outgoing.client import OutgoingAnswer, OutgoingClient, OutgoingRequest, RequestLimits
from ..outgoing.messages import OutgoingFailure, TookTooLong, Unreachable, time_of
from ..outgoing.targets import written_target
from .cards import NO_OEMBED, Draft, OEmbed, draft_of, web_address

PAGE = RequestLimits(seconds=10, body=1024 * 1024, hops=3, cut=True)
OEMBED = RequestLimits(seconds=5, body=64 * 1024, hops=2)
IMAGE = RequestLimits(seconds=10, body=4 * 1024 * 1024, hops=3)

PAGES = ("text/html", "application/xhtml+xml")
CHARSET = re.compile(r"""charset\s*=\s*["']?([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
MOST_PAGES = 3  # of which each refreshes to the next
SERVER = 0  # in the place of an account: pages and images of previews share a place of the media processor
AT_ONCE = 4  # fetched pages and images that are processed at the same time


class PageReader:
    """Reads pages of the Internet, in a language of the server if a page has several.

    Without `Accept-Language` some sites choose the language of the server's country.
    """

    def __init__(self, client: OutgoingClient, media: MediaProcessor, clock: Clock, languages: Sequence[str]) -> None:
        self._client = client
        self._accept_language = ", ".join((*languages, "*;q=0.5"))
        self._media = media
        self._clock = clock
        self._places = trio.CapacityLimiter(AT_ONCE)
        self._breaker = Breaker()

    @asynccontextmanager
    async def __call__(self, url: str) -> AsyncGenerator[CardFacts | None]:
        """Read a page. Its image is removed if the block raises."""
        draft = await self._draft(url)
        if draft is None:
            yield None
            return
        picture = await self._fetch_image(draft.image_url) if draft.image_url else None
        if picture is None:
            yield draft.facts
            return
        async with self._places, self._media.receive(SERVER, BytesIO(picture), len(picture)) as upload:
            if upload.kind not in IMAGES:
                yield draft.facts
                return
            try:
                made = await self._media.make(upload, "thumbnail")
            except (FileRefused, ProcessingFailed):
                yield draft.facts
                return
            except NotAnswered as error:
                raise PageNotRead("too many files are being processed") from error
            size = made.meta["small"]
            sides = {} if draft.facts.html else {"width": size["width"], "height": size["height"]}
            yield replace(draft.facts, image_file=made.file, image_size=made.file_size, blurhash=made.blurhash, **sides)

    async def _draft(self, url: str) -> Draft | None:
        found = await self._find_page(url)
        if found is None:
            return None
        url, page = found
        oembed = web_address(web_address(url, page.base) or url, page.oembed)
        return draft_of(url, page, await self._fetch_oembed(oembed) if oembed else NO_OEMBED)

    async def _find_page(self, url: str) -> tuple[str, PageFacts] | None:
        """Return a page with its address. A page with a refresh is replaced by its target."""
        found = None
        for _ in range(MOST_PAGES):
            answer = await self._fetch_page(url)
            content_type = "" if answer is None else answer.headers.get("content-type", "").strip().lower()
            if answer is None or answer.status != 200 or not content_type.startswith(PAGES):
                return found
            page = await self._read(answer, content_type)
            if page is None:
                return found
            found = answer.url, page
            url = web_address(web_address(answer.url, page.base) or answer.url, page.refresh)
            if not url or url == answer.url:
                break
        return found

    async def _fetch_page(self, url: str) -> OutgoingAnswer | None:
        """Return the answer of a page's server; None if the page can never be fetched."""
        host, now = written_target(url).host, self._clock.now()
        if (until := self._breaker.closed_until(host, now)) is not None:
            raise NotTried(until, "requests to the page's server are paused")
        try:
            answer = await self._get(url, PAGE, ",".join(PAGES))
        except (Unreachable, TookTooLong) as error:
            self._breaker.failed(host, self._clock.now())
            raise PageNotRead(str(error)) from error
        except OutgoingFailure:
            return None
        if answer.status in (408, 429) or answer.status >= 500:
            reason = f"the page's server answered {answer.status}"
            self._breaker.failed(host, self._clock.now())
            if (at := time_of(answer.headers.get("retry-after"), self._clock.now())) is not None:
                self._breaker.close(host, at)
            raise PageNotRead(reason)
        self._breaker.succeeded(host)
        return answer

    async def _get(self, url: str, limits: RequestLimits, accept: str) -> OutgoingAnswer:
        """Send a GET. A URL with plain http is requested with https, at the same address."""
        if url.startswith("http://") and not self._client.allows(url):
            url = url.replace("http://", "https://", 1)
        headers = {"Accept": accept, "Accept-Language": self._accept_language}
        return await self._client.send(OutgoingRequest("GET", url, headers), limits)

    async def _read(self, answer: OutgoingAnswer, content_type: str) -> PageFacts | None:
        charset = CHARSET.search(content_type)
        body = answer.body
        try:
            async with self._places, self._media.receive(SERVER, BytesIO(body), len(body)) as upload:
                return await self._media.read_page(upload, charset[1] if charset else "")
        except ProcessingFailed as error:
            if error.killed:  # often because memory was short, not because of the page
                raise PageNotRead("the process that reads the page was killed") from error
            return None
        except (NotAnswered, TooManyUploads) as error:
            raise PageNotRead("too many pages are being read") from error

    async def _fetch_oembed(self, url: str) -> OEmbed:
        """Return the oEmbed answer; empty if there is none, because it is optional."""
        try:
            answer = await self._get(url, OEMBED, "application/json")
            found: object = orjson.loads(answer.body.removeprefix(BOM_UTF8)) if answer.status == 200 else None
        except (OutgoingFailure, ValueError):
            return NO_OEMBED
        return OEmbed(found) if is_object(found) else NO_OEMBED

    async def _fetch_image(self, url: str) -> bytes | None:
        """Return the file of an image; None if there is none, because it is optional."""
        try:
            answer = await self._get(url, IMAGE, "image/*")
        except OutgoingFailure:
            return None
        return answer.body if answer.status == 200 and answer.body else None
