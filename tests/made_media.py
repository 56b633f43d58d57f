"""Media that are made once: most tests send the same few pictures and films, and are not about how they are made.

The first job of its kind with a file runs in a media process, as in the product. Its results are copied for each later
job that has the same file, task and settings. A process takes a tenth of a second of CPU, one of a film half a second.
"""

import hashlib
import os
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import trio

from troupe.actors.media import process
from troupe.actors.media.jobs import RESULT, SOURCE, Job, results_of

Run = Callable[[Job], Awaitable[int]]


@dataclass(frozen=True)
class _Results:
    """What a media process has written for a job: its files without the job's name, and its result."""

    name: str
    files: dict[str, bytes]

    @classmethod
    def read(cls, job: Job) -> "_Results":
        written = {name: Path(job.folder) / name for name in results_of(job)}
        return cls(job.name, {name: path.read_bytes() for name, path in written.items() if path.exists()})

    def write(self, job: Job) -> None:
        """Write the same results under the name of another job."""
        folder = Path(job.folder)
        if not (folder / SOURCE).exists():
            os.link(job.source, folder / SOURCE)
        for name, content in self.files.items():
            named = content.replace(self.name.encode(), job.name.encode()) if name == RESULT else content
            (folder / name.replace(self.name, job.name)).write_bytes(named)


class MadeMedia:
    """Runs jobs in media processes, and remembers the results of those that came to one."""

    def __init__(self) -> None:
        self.run: Run = process.run
        self.every = False  # run each job in a process of its own
        self._made: dict[tuple[Job, bytes], _Results] = {}

    async def __call__(self, job: Job) -> int:
        if self.every or job.task == "probe":
            return await self.run(job)
        key = await trio.to_thread.run_sync(_key_of, job)
        if key not in self._made:
            code = await self.run(job)
            if code == 0:
                self._made[key] = await trio.to_thread.run_sync(_Results.read, job)
            return code
        await trio.to_thread.run_sync(self._made[key].write, job)
        return 0


_made = MadeMedia()


@contextmanager
def repeated_media() -> Generator[MadeMedia]:
    """Have media processes run by the one object of this process of a run."""
    before, process.run = process.run, _made
    try:
        yield _made
    finally:
        process.run = before


def _key_of(job: Job) -> tuple[Job, bytes]:
    staged = Path(job.folder) / SOURCE
    content = (staged if staged.exists() else Path(job.source)).read_bytes()
    return replace(job, source="", folder="", name=""), hashlib.sha256(content).digest()
