"""Fetching a page and what belongs to it: its oEmbed answer and its image. All by the one client, with limits.

The page is read and the image decoded by confined processes.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from io import BytesIO
from typing import cast

import orjson
import trio

from ...storage.preview_cards import CardFacts
from ..effects.previews import PageNotRead
from ..effects.registry import NotTried
from ..kernel import Clock, NotAnswered
from ..media.jobs import FileRefused
from ..media.kinds import IMAGES
from ..media.pages import PageFacts
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
MOST_PAGES = 3  # of which each leads to the next by itself
SERVER = 0  # in the place of an account: pages and images of previews share one place of the media processor
AT_ONCE = 4  # pages that are read, of those that are fetched


class PageReader:
    """Reads pages of the Internet, in one of the server's languages where a page has several.

    Without a wish some sites choose the language of the country that the server stands in.
    """

    def __init__(self, client: OutgoingClient, media: MediaProcessor, clock: Clock, languages: Sequence[str]) -> None:
        self._client = client
        self._wish = ", ".join((*languages, "*;q=0.5"))
        self._media = media
        self._clock = clock
        self._places = trio.CapacityLimiter(AT_ONCE)
        self._breaker = Breaker()

    @asynccontextmanager
    async def __call__(self, url: str) -> AsyncGenerator[CardFacts | None]:
        """Read a page. Its image is removed again if the block raises."""
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
        """Return a page with its address. One that leads to another by itself stands for the other."""
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
        """Return the answer of a page's server. None if the page can't be fetched, now or later."""
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
        """Ask by https: a link with plain http is asked for at the same place."""
        if url.startswith("http://") and not self._client.allows(url):
            url = url.replace("http://", "https://", 1)
        headers = {"Accept": accept, "Accept-Language": self._wish}
        return await self._client.send(OutgoingRequest("GET", url, headers), limits)

    async def _read(self, answer: OutgoingAnswer, content_type: str) -> PageFacts | None:
        charset = CHARSET.search(content_type)
        body = answer.body
        try:
            async with self._places, self._media.receive(SERVER, BytesIO(body), len(body)) as upload:
                return await self._media.read_page(upload, charset[1] if charset else "")
        except ProcessingFailed as error:
            if error.killed:  # often because memory was short: that says nothing about the page
                raise PageNotRead("the process that reads the page was killed") from error
            return None
        except (NotAnswered, TooManyUploads) as error:
            raise PageNotRead("too many pages are being read") from error

    async def _fetch_oembed(self, url: str) -> OEmbed:
        """Return an oEmbed answer. A page is shown without one as well."""
        try:
            answer = await self._get(url, OEMBED, "application/json")
            found: object = orjson.loads(answer.body) if answer.status == 200 else None
        except (OutgoingFailure, ValueError):
            return NO_OEMBED
        # isinstance does not tell the types of its contents.
        return OEmbed(cast("dict[str, object]", found)) if isinstance(found, dict) else NO_OEMBED

    async def _fetch_image(self, url: str) -> bytes | None:
        """Return a picture's file. A card is shown without one as well."""
        try:
            answer = await self._get(url, IMAGE, "image/*")
        except OutgoingFailure:
            return None
        return answer.body if answer.status == 200 and answer.body else None
