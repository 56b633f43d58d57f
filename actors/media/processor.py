"""The media processor: receives uploads and runs confined processes that make files of them.

Images are made while the request waits. Video and sound may take minutes: they are stored as waiting, with the upload
beside them, and are found again after a crash (`queue.py`). Nothing here runs in a turn.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO

import trio

from ...storage.engine.database import Database, StorageError, Unavailable
from ...storage.files import Folder
from ...storage.media import Media, ProcessedMedia
from ..cluster.others import Others
from ..kernel import Clock, NotAnswered, Record, Runtime
from ..outbox.outbox import Outbox
from . import process
from .cleaning import Cleaning
from .jobs import UNVERIFIED, FileRefused, Job, Task
from .kinds import GIF, Kind, kind_in
from .page_facts import PageFacts, page_of
from .places import Places
from .probe import probe, report_missing
from .process import ProcessingFailed
from .queue import Queue

# Each process may use a whole core. Films have places of their own, so that they never delay images.
IMAGES_AT_ONCE = 2
GIFS_AT_ONCE = 1
IMAGE_PATIENCE = 60.0  # seconds on the wall clock, longer than the processes' own limit of CPU time
PAGE_PATIENCE = 15.0
FILM_PATIENCE = 1800.0
COPIES_AT_ONCE = 2  # of other servers' films
COPY_PATIENCE = 300.0  # seconds, as above
PLACE_PATIENCE = 60.0  # seconds that a request waits for a place
FINISH_PATIENCE = 600.0  # seconds that a request waits for a film
KILLED_PAUSES = (0.5, 2.0)  # seconds until a process that was killed while a request waits is tried again
MOST_IN_HAND = 8  # uploads of one account that are received and not yet finished


class TooManyUploads(Exception):
    """Raised when the account has too many unfinished uploads."""


class Incoming:
    """An upload in a folder of its own, until it is finished."""

    def __init__(self, account_id: int, key: str, place: Path, kind: Kind | None, size: int) -> None:
        self.account_id = account_id
        self.key = key
        self.place = place
        self.kind = kind
        self.size = size
        self.published: tuple[str, ...] = ()  # names of files that are removed again if the upload is refused
        self.published_bytes = 0

    @property
    def source(self) -> Path:
        return self.place / "source"


class MediaProcessor:
    """The media processor, one for each process of the server."""

    def __init__(
        self, database: Database, runtime: Runtime, clock: Clock, record: Record, outbox: Outbox, folder: Folder,
        others: Others, *, key: Callable[[], str],
    ) -> None:  # fmt: skip
        self.folder = folder
        tools = [shutil.which(tool) for tool in ("ffmpeg", "ffprobe")]
        # Both or none.
        self.ffmpeg, self.ffprobe = tools if all(tools) else (None, None)
        self.queue = Queue(database, runtime, clock, record, self.folder, self._make_film, key)
        self.cleaning = Cleaning(database, clock, record, outbox, self.folder, others)
        self._record = record
        self._key = key
        self._first_file = trio.Event()
        self._images = Places(IMAGES_AT_ONCE)
        self._gifs = Places(GIFS_AT_ONCE)
        self._copies = trio.CapacityLimiter(COPIES_AT_ONCE)
        self._in_hand: Counter[int] = Counter()

    @property
    def takes_films(self) -> bool:
        """True if video and sound can be processed, which needs FFmpeg."""
        return self.ffmpeg is not None

    def inspect(self) -> dict[str, object]:
        """Return the numbers for an operator: places in use, and waiting accounts."""
        return {
            "images": self._images.inspect(), "gifs": self._gifs.inspect(), "films": self.queue.places.inspect(),
            "copies of films": f"{self._copies.borrowed_tokens} of {COPIES_AT_ONCE}",
        }  # fmt: skip

    @asynccontextmanager
    async def receive(self, account_id: int, file: IO[bytes], size: int) -> AsyncGenerator[Incoming]:
        """Receive an upload for the block. If the block raises, the published files are removed again.

        If the outcome of a commit in the block is not known, the files stay until the cleaning asks the rows. Raises
        TooManyUploads.
        """
        if self._in_hand[account_id] >= MOST_IN_HAND:
            raise TooManyUploads
        self._in_hand[account_id] += 1
        try:
            async with self._received(account_id, file, size) as upload:
                yield upload
        finally:
            self._in_hand[account_id] -= 1
            if not self._in_hand[account_id]:
                del self._in_hand[account_id]

    @asynccontextmanager
    async def _received(self, account_id: int, file: IO[bytes], size: int) -> AsyncGenerator[Incoming]:
        key = self._key()
        upload = Incoming(account_id, key, self.folder.incoming(key), None, size)
        try:
            upload.kind = await trio.to_thread.run_sync(self._stage, key, file)
            yield upload
        except (NotAnswered, StorageError, trio.Cancelled):
            if not upload.published:
                await self._clear(upload)
            raise
        except BaseException:
            if await self._taken_back(upload):
                await self._clear(upload)
            raise
        await self._clear(upload)

    async def _taken_back(self, upload: Incoming) -> bool:
        """Remove the published files of an upload.

        If it fails, the folder stays, so that the cleaning finds the files.
        """
        with trio.CancelScope(shield=True):
            try:
                await self.remove(upload.published)
            except OSError:
                return False
        return True

    async def _clear(self, upload: Incoming) -> None:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(self.folder.clear, upload.key)

    def _stage(self, key: str, file: IO[bytes]) -> Kind | None:
        kind = kind_in(file)
        file.seek(0)
        self.folder.stage(key, file)
        return kind

    async def make(self, upload: Incoming, task: Task, **more: int) -> ProcessedMedia:
        """Make files of an upload and publish them.

        Raises FileRefused, ProcessingFailed, NoPlace, and OSError when the machine lacks something.
        """
        kind = upload.kind.name if upload.kind else ""
        job = self._job(task, kind, upload.source, upload.place, upload.key, **more)
        made = await self._made_while_waiting(upload.account_id, job)
        await self._publish(upload, made)
        return made

    async def copy_film(self, upload: Incoming) -> ProcessedMedia:
        """Make files of a film or of sound of another server and publish them. Raises the errors of `make`."""
        if not self.takes_films or upload.kind is None:
            raise FileRefused(UNVERIFIED)
        job = self._job("copy", upload.kind.name, upload.source, upload.place, upload.key)
        async with self._copies:
            made = await process.make(job, COPY_PATIENCE)
        await self._publish(upload, made)
        return made

    async def _publish(self, upload: Incoming, made: ProcessedMedia) -> None:
        upload.published = _names(made)
        upload.published_bytes = await self.folder.in_thread(self.folder.publish, upload.key, upload.published)

    async def read_page(self, upload: Incoming, charset: str) -> PageFacts:
        """Return the facts that a web page states. `charset` is the encoding that its server named, or empty.

        Raises ProcessingFailed, NoPlace, and OSError when the machine lacks something.
        """
        job = self._job("page", charset, upload.source, upload.place, upload.key)
        async with self._images.take(upload.account_id, PLACE_PATIENCE):
            return await process.run_job(job, PAGE_PATIENCE, page_of)

    async def _made_while_waiting(self, account_id: int, job: Job) -> ProcessedMedia:
        """Make files while a request waits.

        A killed process is tried again: it was often killed because memory was short.
        """
        places = self._gifs if job.ffmpeg else self._images
        for pause in (*KILLED_PAUSES, None):
            async with places.take(account_id, PLACE_PATIENCE):
                try:
                    return await process.make(job, IMAGE_PATIENCE)
                except ProcessingFailed as error:
                    failure = error
            facts = {"actor": f"account/{account_id}", "message": f"{job.task} of {job.kind}", "error": str(failure)}
            if pause is None or not failure.killed:
                self._record("media.failed", **facts, decision="upload refused")
                raise failure
            self._record("media.retry", **facts, decision=f"again in {pause:g} s")
            await trio.sleep(pause)
        raise AssertionError("the last try returns or raises")

    async def put_off(self, upload: Incoming, id: int) -> None:
        """Keep an upload for later. Call `wake` when its attachment is stored."""
        upload.published = (f"waiting/{id}",)
        await trio.to_thread.run_sync(self.folder.put_off, upload.key, id)

    def wake(self) -> None:
        """Look for waiting uploads at once."""
        self.queue.wake()

    async def finished(self, id: int) -> None:
        """Wait until a waiting attachment is done, failed, put off or gone, for ten minutes at most."""
        await self.queue.finished(id, FINISH_PATIENCE)

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Process waiting uploads and clean up, until `stopping`. Unfinished uploads begin anew at the next start."""
        await self.cleaning.find_left()
        task_status.started()
        async with trio.open_nursery() as nursery:
            look = partial(probe, process.run, self.ffmpeg, self.ffprobe)
            nursery.start_soon(report_missing, self._first_file, look, self._record)
            nursery.start_soon(self.queue.run)
            nursery.start_soon(self.cleaning.run)
            await stopping.wait()
            nursery.cancel_scope.cancel()

    async def remove(self, names: Sequence[str]) -> None:
        """Remove files that no row names any more."""
        await self.folder.in_thread(self.folder.remove, names)

    async def _make_film(self, medium: Media, key: str) -> ProcessedMedia:
        """Make files of a waiting upload and publish them. Raises the errors of `make`."""
        source = self.folder.waiting(medium.id)
        place, kind = await trio.to_thread.run_sync(self._begin, key, source)
        if kind is None:
            raise FileRefused(UNVERIFIED)
        if not self.takes_films:
            raise Unavailable("FFmpeg is not installed")  # FFmpeg was there when the upload was accepted
        made = await process.make(self._job("film", kind.name, source, place, key), FILM_PATIENCE)
        try:
            await self.folder.in_thread(self.folder.publish, key, _names(made))
        except OSError:
            with suppress(OSError):
                await self.remove(_names(made))
            raise
        return made

    def _begin(self, key: str, source: Path) -> tuple[Path, Kind | None]:
        with source.open("rb") as file:
            kind = kind_in(file)
        return self.folder.begin(key), kind

    def _job(self, task: Task, kind: str, source: Path, place: Path, name: str, **more: int) -> Job:
        self._first_file.set()
        may_move = task in ("film", "copy") or (task == "image" and kind == GIF.name)
        ffmpeg, ffprobe = (self.ffmpeg or "", self.ffprobe or "") if may_move else ("", "")
        return Job(task, kind, str(source), str(place), name, ffmpeg, ffprobe, **more)


def _names(made: ProcessedMedia) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in (made.file, made.thumbnail_file) if name is not None))
