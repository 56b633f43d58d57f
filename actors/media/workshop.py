"""The workshop: starts a confined process for each upload, and works through those that need not be ready at once.

Images are made while their uploader waits. Video and sound may take minutes: they are stored as waiting, with the
upload beside them, and are found again after a crash. Nothing here runs in a turn.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO

import orjson
import trio

from ...storage import media
from ...storage.engine import Connection, Database, Doubtful, StorageError, Unavailable
from ...storage.files import Folder
from ...storage.media import Made, Media
from ..commands.media import FinishMedia
from ..kernel import NOWHERE, Address, Clock, NotAnswered, Record, Runtime
from ..kernel import Refused as NoLongerWanted
from ..kernel.pool import describe
from ..outbox import Outbox
from .jobs import LARGEST_RESULT, RESULT, Job, Refused, Task, made_of
from .kinds import GIF, HEAD, Kind, kind_of

BENCH = f"{__package__}.bench"
LAST_WORDS = "last-words.txt"

AT_ONCE = 2  # processes; each may fill a core
IMAGE_PATIENCE = 60.0  # seconds on the wall clock, longer than the processes' own limit of CPU time
FILM_PATIENCE = 1800.0
TELL_AGAIN = 5.0  # seconds until an account that did not answer is told again
LOOK_AGAIN = 60.0  # seconds between two looks for work that nobody announced
CLEAN_EVERY = 3600.0
LOOSE_FOR = timedelta(days=1)  # how long an attachment without a status is kept
CLEANED_AT_ONCE = 500
MOST_WORDS = 2000  # bytes kept of what a failed process said


class Broken(Exception):
    """The process came to no result: it was killed, ran out of something, or has a bug."""


class Incoming:
    """An upload in a folder of its own, until it is dealt with."""

    def __init__(self, key: str, place: Path, kind: Kind | None, size: int) -> None:
        self.key = key
        self.place = place
        self.kind = kind
        self.size = size
        self.published: tuple[str, ...] = ()

    @property
    def source(self) -> Path:
        return self.place / "source"


class Workshop:
    """One for each process of the server."""

    def __init__(
        self, database: Database, runtime: Runtime, clock: Clock, record: Record, outbox: Outbox, folder: Path,
        *, key: Callable[[], str],
    ) -> None:  # fmt: skip
        self.folder = Folder(folder)
        tools = [shutil.which(tool) for tool in ("ffmpeg", "ffprobe")]
        # Both or none.
        self.ffmpeg, self.ffprobe = tools if all(tools) else (None, None)
        self._database = database
        self._runtime = runtime
        self._clock = clock
        self._record = record
        self._outbox = outbox
        self._key = key
        self._benches = trio.CapacityLimiter(AT_ONCE)
        self._woken = trio.Event()
        self._finished: dict[int, trio.Event] = {}
        outbox.remove_files = self.remove

    @property
    def takes_films(self) -> bool:
        """Whether video and sound can be made: only where ffmpeg is."""
        return self.ffmpeg is not None

    @asynccontextmanager
    async def receive(self, file: IO[bytes], size: int) -> AsyncIterator[Incoming]:
        """An upload to make something of. What was published of it goes again if the block is refused.

        When nobody can say whether what the block stored was committed, its files stay until the rows are asked.
        """
        upload = await trio.to_thread.run_sync(self._stage, file, size)
        try:
            yield upload
        except (NotAnswered, StorageError, trio.Cancelled):
            if not upload.published:
                await self._clear(upload)
            raise
        except BaseException:
            await self.remove(upload.published)
            await self._clear(upload)
            raise
        await self._clear(upload)

    async def _clear(self, upload: Incoming) -> None:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(self.folder.clear, upload.key)

    def _stage(self, file: IO[bytes], size: int) -> Incoming:
        key = self._key()
        kind = kind_of(file.read(HEAD))
        file.seek(0)
        return Incoming(key, self.folder.stage(key, file), kind, size)

    async def make(self, upload: Incoming, task: Task, **more: int) -> Made:
        """Have files made of an upload, and publish them. Raises Refused for what is no such file, and Broken."""
        kind = upload.kind.name if upload.kind else ""
        made = await self._work_on(self._job(task, kind, upload.source, upload.place, upload.key, **more))
        await self._publish(upload, made)
        return made

    async def put_off(self, upload: Incoming, id: int) -> None:
        """Keep an upload until there is time for it; `wake` when its attachment is stored."""
        await trio.to_thread.run_sync(self.folder.put_off, upload.key, id)

    def wake(self) -> None:
        """There is work."""
        self._woken.set()

    async def finished(self, id: int) -> None:
        """Wait until a waiting attachment is done, well or not, or is gone."""
        while True:
            done = self._finished.setdefault(id, trio.Event())
            self.wake()
            found = await self._database.read(media.find, id)
            if found is None or found.state != "waiting":
                self._finished.pop(id, None)
                return
            with trio.move_on_after(LOOK_AGAIN):
                await done.wait()

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Work through what waits and clean up now and then, until `stopping`. What is unfinished then begins anew."""
        task_status.started()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._work_through)
            nursery.start_soon(self._clean_now_and_then)
            await stopping.wait()
            nursery.cancel_scope.cancel()

    # Work ---------------------------------------------------------------------------------------------------------

    async def _work_through(self) -> None:
        while True:
            self._woken = trio.Event()
            if not await self._work_once():
                with trio.move_on_after(LOOK_AGAIN):
                    await self._woken.wait()

    async def _work_once(self) -> bool:
        """Do the oldest piece of work; whether there was any."""
        try:
            found = await self._database.read(media.waiting, 1)
            for medium in found:
                await self._finish(medium)
        except (Unavailable, Doubtful) as error:
            self._record("storage.lost", error=describe(error), decision="media waits")
            return False
        return bool(found)

    async def _finish(self, medium: Media) -> None:
        """Process one; its owner's account writes the result, so that it meets no other change half-way."""
        key = self._key()
        upload = Incoming(key, self.folder.begin(key), None, 0)
        made = await self._made_of(medium, upload)
        await self._tell(medium, FinishMedia(medium.id, made))
        await trio.to_thread.run_sync(self.folder.forget, medium.id)
        await self._clear(upload)
        if (done := self._finished.pop(medium.id, None)) is not None:
            done.set()

    async def _tell(self, medium: Media, result: FinishMedia) -> None:
        """Until the owner's account answers: the work is not to be done again because it is busy."""
        while True:
            try:
                await self._runtime.ask(Address("account", str(medium.account_id)), result)
            except NoLongerWanted:
                return
            except (NotAnswered, Unavailable, Doubtful) as error:
                self._record("storage.lost", error=describe(error), decision="media waits")
                await trio.sleep(TELL_AGAIN)
            else:
                return

    async def _made_of(self, medium: Media, upload: Incoming) -> Made | None:
        """What came of a waiting upload; None when nothing could."""
        source = self.folder.waiting(medium.id)
        try:
            with source.open("rb") as file:
                kind = kind_of(file.read(HEAD))
        except FileNotFoundError:
            return None
        if kind is None or not self.takes_films:
            return None
        try:
            made = await self._work_on(self._job("film", kind.name, source, upload.place, upload.key))
        except (Refused, Broken):
            return None
        await self._publish(upload, made)
        return made

    def _job(self, task: Task, kind: str, source: Path, place: Path, name: str, **more: int) -> Job:
        may_move = task == "film" or (task == "image" and kind == GIF.name)
        ffmpeg, ffprobe = (self.ffmpeg or "", self.ffprobe or "") if may_move else ("", "")
        return Job(task, kind, str(source), str(place), name, ffmpeg, ffprobe, **more)

    async def _work_on(self, job: Job) -> Made:
        async with self._benches:
            with trio.move_on_after(FILM_PATIENCE if job.task == "film" else IMAGE_PATIENCE):
                await _run(job)
        try:
            return await trio.to_thread.run_sync(_result, job)
        except (OSError, ValueError, LookupError, TypeError) as error:
            why = _last_words(job) or describe(error)
            self._record("media.failed", message=f"{job.task} of {job.kind}", error=why, decision="upload refused")
            raise Broken from error

    async def _publish(self, upload: Incoming, made: Made) -> None:
        names = tuple(dict.fromkeys(name for name in (made.file, made.thumbnail_file) if name is not None))
        upload.published = names
        await trio.to_thread.run_sync(self.folder.publish, upload.key, names)

    # Cleaning -----------------------------------------------------------------------------------------------------

    async def _clean_now_and_then(self) -> None:
        await self._tidied(self.settle)
        while True:
            await self._tidied(self.clean)
            await trio.sleep(CLEAN_EVERY)

    async def _tidied(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except (Unavailable, Doubtful) as error:
            self._record("storage.lost", error=describe(error), decision="cleaning waits")

    async def clean(self) -> None:
        """Delete what no status has had for a day, rows first; the outbox removes the files, whatever happens."""
        while await self._database.transact(self._delete_loose, self._clock.now() - LOOSE_FOR):
            self._outbox.wake()

    async def _delete_loose(self, db: Connection, before: datetime) -> int:
        gone = await media.delete_loose(db, before, CLEANED_AT_ONCE)
        if gone:
            files = [file for medium in gone for file in medium.files]
            await self._outbox.promise(db, [self._outbox.files(files, NOWHERE)])
        return len(gone)

    async def settle(self) -> None:
        """Remove what a crash left of uploads that were never stored. Only where nothing is under way: at start."""
        left = await trio.to_thread.run_sync(self.folder.left_over)
        names = [name for published in left.values() for name in published]
        known = await self._database.read(media.known_files, names) if names else set[str]()
        await self.remove([name for name in names if name not in known])
        for key in left:
            self.folder.clear(key)
        waiting = await trio.to_thread.run_sync(self.folder.left_waiting)
        rows = await self._database.read(media.find_many, waiting) if waiting else {}
        for id in waiting:
            if id not in rows or rows[id].state != "waiting":
                self.folder.forget(id)

    async def remove(self, names: Sequence[str]) -> None:
        """Remove files that nothing names any more."""
        await trio.to_thread.run_sync(self.folder.remove, names)


async def _run(job: Job) -> None:
    """One process and all that it starts, for one job. Nothing of the server's environment goes along."""
    command = [sys.executable, "-I", "-m", BENCH]
    with (Path(job.folder) / LAST_WORDS).open("wb") as words:
        await trio.run_process(
            command,
            stdin=job.to_json().encode(),
            stdout=subprocess.DEVNULL,
            stderr=words,
            check=False,
            cwd=job.folder,
            env={"LC_ALL": "C.UTF-8", "VIPS_CONCURRENCY": "1", "MALLOC_ARENA_MAX": "1"},
            start_new_session=True,
            deliver_cancel=_kill,
        )


async def _kill(process: trio.Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _result(job: Job) -> Made:
    with (Path(job.folder) / RESULT).open("rb") as file:
        return made_of(orjson.loads(file.read(LARGEST_RESULT)), job)


def _last_words(job: Job) -> str:
    with (Path(job.folder) / LAST_WORDS).open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - MOST_WORDS))
        return file.read().decode("utf-8", "replace").strip()
