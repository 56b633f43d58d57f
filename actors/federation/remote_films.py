"""Films and sound of other servers, fetched when they are first requested, and made safe by a confined process.

A film is written to disk piece by piece and refused at its first bytes if it is no film. Formats that browsers play are
copied into a new file, all others are encoded again. This takes longer than most readers wait. So it is done once for
all readers, and goes on when they leave: the next reader finds the copy. One film of a domain and four in all are
processed at a time. A reader who has waited for 25 s gets an answer with `Retry-After`.
"""

from __future__ import annotations

from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO

import trio

from ...storage.engine.database import Database
from ...storage.federation import remote_files
from ...storage.media import ProcessedMedia
from ..activitypub.vocabulary import host_of
from ..kernel import Clock, NotAnswered
from ..media.jobs import FileRefused
from ..media.kinds import FILMS, HEAD, IMAGES, SOUNDS, Kind, kind_in, kind_of
from ..media.process import ProcessingFailed
from ..media.processor import Incoming, MediaProcessor, TooManyUploads
from ..outgoing.client import OutgoingAnswer, OutgoingClient, OutgoingRequest, RequestLimits
from ..outgoing.messages import OutgoingFailure
from ..rules import limits
from .budgets import DomainLimiter
from .errors import CopiedAlready, DocumentUnavailable
from .file_requests import FindTarget, request_file
from .flights import Flights

FETCH_SECONDS = 180.0  # for a film with its redirects
LIMITS = RequestLimits(FETCH_SECONDS, limits.VIDEO_BYTES)  # of a hop
HEADERS = {"Accept": "video/*, audio/*, image/*", "Accept-Encoding": "identity"}
AT_ONCE = 4  # that are fetched or made
OF_ONE_DOMAIN = 1  # a slow server delays no other server
WAITING = 64  # that are fetched or made, or wait
WAITING_OF_ONE_DOMAIN = 16
SECONDS = 900.0  # for a film, with its wait
READER_WAITS = 25.0  # seconds, less than most players
WRITTEN_AT_ONCE = 1024 * 1024
SERVER = 0  # in the place of an account


class NoCopyYet(NotAnswered):
    """Raised if a film is still being fetched, or can't be fetched for the moment."""

    retry_after = 5


class RemoteFilms:
    """Fetches films. Each process has an instance."""

    def __init__(
        self, database: Database, clock: Clock, client: OutgoingClient, media: MediaProcessor, find_target: FindTarget
    ) -> None:
        """`find_target` returns the target of a URL, and raises ForbiddenTarget for servers from which no files are
        requested."""
        self._database = database
        self._clock = clock
        self._client = client
        self._media = media
        self._find_target = find_target
        self._limiter = DomainLimiter(AT_ONCE, OF_ONE_DOMAIN)
        self._flights: Flights[bool] = Flights(most=WAITING, seconds=SECONDS)

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Fetch films until `stopping`."""
        await self._flights.run(stopping, task_status=task_status)

    def inspect(self) -> dict[str, object]:
        """Return the state for operators."""
        return {"fetching": len(self._flights)}

    async def fetch(self, url: str) -> bool:
        """Make a copy of a film. Return False if there is no film. Raise NoCopyYet if it takes too long."""
        with trio.move_on_after(READER_WAITS):
            try:
                return await self._flights.join(url, partial(self._fetched, url)) is True
            except (DocumentUnavailable, OSError) as error:
                # There are too many, it took too long, or the disk is full, which is logged elsewhere.
                raise NoCopyYet from error
        raise NoCopyYet

    async def _fetched(self, url: str) -> bool:
        host = host_of(url) or ""
        if self._limiter.count(host) >= WAITING_OF_ONE_DOMAIN:
            raise DocumentUnavailable("too many films of one domain wait")
        async with self._limiter.place(host):
            return await self._copied(url)

    async def _copied(self, url: str) -> bool:
        try:
            async with self._media.receive(SERVER, BytesIO(), 0) as upload:
                if not await self._download(url, upload):
                    return False
                made = await self._made(upload)
                size = upload.published_bytes
                if not await self._database.transact(remote_files.insert, url, "film", made, size, self._clock.now()):
                    raise CopiedAlready
        except CopiedAlready:
            return True
        except (FileRefused, ProcessingFailed, OutgoingFailure, trio.TooSlowError):
            return False
        except TooManyUploads as error:
            raise DocumentUnavailable("too many files are being made") from error
        await self._media.cleaning.apply_budget()
        return True

    async def _download(self, url: str, upload: Incoming) -> bool:
        """Write a film to the folder of an upload. Raise FileRefused at the first bytes that are no film."""
        with await trio.to_thread.run_sync(upload.source.open, "wb") as file:
            writer = _FilmWriter(file)

            async def ask(url: str) -> OutgoingAnswer:
                return await self._client.receive(OutgoingRequest("GET", url, HEADERS), LIMITS, writer.write)

            with trio.fail_after(FETCH_SECONDS):
                answer = await request_file(url, self._find_target, ask)
            await writer.finish()
        upload.kind = await trio.to_thread.run_sync(_kind_at, upload.source)
        return answer.status == 200

    async def _made(self, upload: Incoming) -> ProcessedMedia:
        """Make files of a film. A file of unknown type may be a picture."""
        if upload.kind in IMAGES:
            return await self._media.make(upload, "image")
        return await self._media.copy_film(upload)


def _kind_at(path: Path) -> Kind | None:
    with path.open("rb") as file:
        return kind_in(file)


class _FilmWriter:
    """Writes a film to a file in large pieces, after checking its first bytes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._waiting = bytearray()
        self.head = b""

    async def write(self, chunk: bytes) -> None:
        self._waiting += chunk
        if not self.head and len(self._waiting) >= HEAD:
            self._look()
        if len(self._waiting) >= WRITTEN_AT_ONCE:
            await self._flush()

    async def finish(self) -> None:
        if not self.head:
            self._look()
        await self._flush()

    def _look(self) -> None:
        self.head = bytes(self._waiting[:HEAD])
        if kind_of(self.head) not in (*FILMS, *SOUNDS, *IMAGES):
            raise FileRefused("the file is neither a film nor a picture")

    async def _flush(self) -> None:
        data, self._waiting = bytes(self._waiting), bytearray()
        await trio.to_thread.run_sync(self._file.write, data)
