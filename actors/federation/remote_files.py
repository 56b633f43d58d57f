"""Files of other servers, for readers of this server: fetched when they are first requested, and cached.

So readers contact no other server, and get no file that was not decoded here first. A fetched file is decoded by a
confined process, like an upload. A copy is deleted when it was not used for 30 days, or when all copies exceed their
budget on disk. Files that can't be fetched are not requested again for some minutes.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta
from functools import partial
from io import BytesIO

import trio
from cachetools import TTLCache

from ...storage.engine.database import Database
from ...storage.federation import remote_files
from ...storage.federation.remote_files import Kind, Purpose, RemoteCopy, RemoteSource
from ...storage.media import ProcessedMedia
from ..activitypub.uris import web_address
from ..facts.fact import Facts
from ..facts.statuses import ChangedStatus
from ..kernel import Clock, NotAnswered
from ..media.jobs import FileRefused
from ..media.kinds import EMOJIS, IMAGES
from ..media.process import ProcessingFailed
from ..media.processor import Incoming, MediaProcessor, TooManyUploads
from ..memory.server_blocks import ServerBlocks
from ..memory.single_flight import SingleFlight
from ..outgoing.client import OutgoingAnswer, OutgoingClient, OutgoingRequest, RequestLimits
from ..outgoing.messages import ForbiddenTarget, OutgoingFailure
from ..outgoing.targets import RequestTarget, written_target
from ..rules import limits
from .budgets import DomainLimiter
from .errors import CopiedAlready
from .file_requests import request_file
from .remote_films import RemoteFilms

PURPOSES: dict[Kind, Purpose] = {
    "attachment": "image", "preview": "image", "avatar": "avatar", "header": "header", "emoji": "emoji",
}  # fmt: skip
SIZES: dict[Purpose, tuple[int, int]] = {"avatar": (400, 400), "header": (1500, 500)}

SECONDS = 20.0  # for a picture with its redirects
LIMITS = RequestLimits(SECONDS, limits.IMAGE_BYTES)  # of a hop
AT_ONCE = 12  # each may take `limits.IMAGE_BYTES` of memory
# Pictures that are being fetched or wait. Further requests get no picture for the moment. A page shows some dozens of a
# server.
WAITING = 256
WAITING_OF_ONE_DOMAIN = 64
SERVER = 0  # in the place of an account
NOT_FOUND_FOR = 600.0  # seconds
NOT_FOUND_KEPT = 10_000
USED_EVERY = timedelta(days=1)


class RemoteFiles:
    """Finds and fetches the copies of files. Each process has an instance."""

    def __init__(
        self, database: Database, clock: Clock, client: OutgoingClient, media: MediaProcessor, blocks: ServerBlocks,
        domain: str, facts: Facts,
    ) -> None:  # fmt: skip
        """`domain` is that of this server, from which no pictures are fetched."""
        self._facts = facts
        self._database = database
        self._clock = clock
        self._client = client
        self._media = media
        self._blocks = blocks
        self._domain = domain
        self.films = RemoteFilms(database, clock, client, media, self._find_target)
        self._limiter = DomainLimiter(AT_ONCE)
        self._fetching: SingleFlight[tuple[str, Purpose], RemoteCopy | None] = SingleFlight()
        self._missing: TTLCache[tuple[str, Purpose], bool] = TTLCache(
            NOT_FOUND_KEPT, NOT_FOUND_FOR, timer=trio.current_time
        )

    async def find(self, kind: Kind, id: int, digest: str, *, small: bool = False) -> str | None:
        """Return the name of the file of a picture; None if there is none, or `digest` is of another address.

        Without the digest, the addresses of private pictures could be guessed.
        """
        source = await self._database.read(remote_files.find_source, kind, id)
        if source is None or digest_of(source.url) != digest or not self._may_fetch(source):
            return None
        made: Purpose = "film" if kind == "attachment" and source.type != "image" else PURPOSES[kind]
        copy = await (self._film(source.url) if made == "film" else self._picture(source.url, made))
        if copy is None:
            return None
        now = self._clock.now()
        if copy.used_at + USED_EVERY < now:
            await self._database.transact(remote_files.use, source.url, made, now)
        if (source.lacks_blurhash and copy.blurhash is not None) or (source.lacks_size and "original" in copy.meta):
            await self._describe(kind, id, copy)
        return copy.thumbnail_file or copy.file if small else copy.file

    async def _describe(self, kind: Kind, id: int, copy: RemoteCopy) -> None:
        """Store the blurhash and the sizes of the file with its attachment. The sizes of a preview are not stored."""
        meta = copy.meta if kind == "attachment" else {}
        with self._facts.publishing():
            status_id = await self._database.transact(remote_files.describe, id, copy, meta, self._clock.now())
            if status_id is not None:
                await self._facts.apply([ChangedStatus(status_id)])

    def _may_fetch(self, source: RemoteSource) -> bool:
        """True if staff have blocked neither the server of the account nor the server of the picture.

        With limited federation the server of the picture need not be allowed: many servers store files elsewhere.
        """
        standing = self._blocks.domains.standing_of(source.domain)
        if standing.suspended or standing.rejects_media:
            return False
        try:
            self._find_target(web_address(source.url))
        except ForbiddenTarget:
            return False
        return True

    def _find_target(self, url: str) -> RequestTarget:
        """Return the target of a picture's URL. Raise ForbiddenTarget for a server that staff have blocked, and for
        this server."""
        target = written_target(url)
        block = self._blocks.domains.block_of(target.authority)
        if target.authority == self._domain or (
            block is not None and (block.severity == "suspend" or block.reject_media)
        ):
            raise ForbiddenTarget("pictures of this host are not fetched")
        return target

    async def _film(self, url: str) -> RemoteCopy | None:
        """Return the copy of a film or of sound. Raise NoCopyYet if it takes long."""
        copy = await self._database.read(remote_files.find, url, "film")
        if copy is not None or (url, "film") in self._missing:
            return copy
        if not await self.films.fetch(url):
            self._missing[(url, "film")] = True
        return await self._database.read(remote_files.find, url, "film")

    async def _picture(self, url: str, made: Purpose) -> RemoteCopy | None:
        """Return the copy of a picture. Concurrent requests for a picture share a fetch."""
        key = (url, made)
        copy = await self._database.read(remote_files.find, url, made)
        if copy is not None or key in self._missing or self._is_crowded(url):
            return copy
        return await self._fetching.join(key, partial(self._fetch, url, made))

    def _is_crowded(self, url: str) -> bool:
        """True if too many pictures wait: of all servers, or of the server of a URL, which may be slow on purpose."""
        if len(self._fetching) >= WAITING:
            return True
        return self._limiter.count(written_target(web_address(url)).authority) >= WAITING_OF_ONE_DOMAIN

    async def _fetch(self, url: str, made: Purpose) -> RemoteCopy | None:
        """Fetch a picture and return its stored copy, or note that there is none."""
        async with self._limiter.place(written_target(web_address(url)).authority):
            if not await self._stored(url, made):
                self._missing[(url, made)] = True
        return await self._database.read(remote_files.find, url, made)

    async def _request(self, url: str) -> OutgoingAnswer:
        return await self._client.send(OutgoingRequest("GET", url, {"Accept": "image/*"}), LIMITS)

    async def _stored(self, url: str, made: Purpose) -> bool:
        try:
            with trio.fail_after(SECONDS):
                answer = await request_file(url, self._find_target, self._request)
        except (OutgoingFailure, trio.TooSlowError):
            return False
        if answer.status != 200 or not answer.body:
            return False
        try:
            async with self._media.receive(SERVER, BytesIO(answer.body), len(answer.body)) as upload:
                if upload.kind not in (EMOJIS if made == "emoji" else IMAGES):
                    return False
                processed = await self._made(upload, made)
                size = upload.published_bytes
                stored = await self._database.transact(
                    remote_files.insert, url, made, processed, size, self._clock.now()
                )
                if not stored:
                    raise CopiedAlready
        except CopiedAlready:
            return True
        except (FileRefused, ProcessingFailed, NotAnswered, TooManyUploads, OSError):
            return False  # a full disk is logged elsewhere
        return True

    async def _made(self, upload: Incoming, made: Purpose) -> ProcessedMedia:
        if made in SIZES:
            width, height = SIZES[made]
            return await self._media.make(upload, "picture", width=width, height=height)
        return await self._media.make(upload, "emoji" if made == "emoji" else "image")


def digest_of(url: str) -> str:
    """Return the part of a copy's address that changes with the picture and can't be guessed without its URL."""
    return hashlib.sha256(url.encode()).hexdigest()[:32]
