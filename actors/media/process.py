"""The process of a media job: started, awaited, and its result read."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import orjson
import trio

from ...storage.engine.faults import free_bytes, full, machine_fault
from ...storage.engine.json_values import JsonObject
from ...storage.media import ProcessedMedia
from ..kernel.errors import describe
from .jobs import LARGEST_RESULT, RESULT, FileRefused, Job, made_of, take_back

WORKER = f"{__package__}.worker"
LAST_WORDS = "last-words.txt"  # the process's standard error
MOST_WORDS = 2000  # bytes of it that are read
LONGEST_CAUSE = 300  # characters
KILLED = "was killed by signal"  # as `child_processes.py` says of FFmpeg
NO_SPACE = os.strerror(errno.ENOSPC)  # as decoders report it: the process runs in the C locale
FULL = 16 * 1024 * 1024  # with fewer bytes free, the disk is taken to be the cause of a failed process

T = TypeVar("T")
Read = Callable[[JsonObject, Job], T]


class ProcessingFailed(Exception):
    """Raised when the process gave no result. The text says why; the file's owner may see it if it is `public`.

    `killed`: a signal ended the process, or FFmpeg. Another try may succeed.
    """

    def __init__(self, why: str, *, killed: bool = False, public: bool = False) -> None:
        super().__init__(why)
        self.killed = killed
        self.public = public


async def make(job: Job, patience: float) -> ProcessedMedia:
    """Run a job that makes files. As `run_job`."""
    return await run_job(job, patience, made_of)


async def run_job(job: Job, patience: float, read: Read[T]) -> T:
    """Run a job in a process of its own, for at most `patience` seconds. `read` checks and returns its result.

    Raises FileRefused, ProcessingFailed, and OSError when the machine lacks something, such as room on
    its disk. The files of the result are in the job's folder.
    """
    await trio.to_thread.run_sync(_forget_result, job)
    code: int | None = None
    with trio.move_on_after(patience):
        code = await run(job)
    return await trio.to_thread.run_sync(_outcome, job, code, patience, read)


async def run(job: Job) -> int:
    """Run the process and return its exit code. If cancelled, end all processes that it started.

    The server's environment is not passed on.
    """
    with (Path(job.folder) / LAST_WORDS).open("wb") as words, _lifeline() as lifeline:
        command = [sys.executable, "-I", "-m", WORKER, str(lifeline)]
        done = await trio.run_process(
            command,
            stdin=job.to_json().encode(),
            stdout=subprocess.DEVNULL,
            stderr=words,
            check=False,
            cwd=job.folder,
            env={"LC_ALL": "C.UTF-8", "VIPS_CONCURRENCY": "1", "MALLOC_ARENA_MAX": "1"},
            pass_fds=(lifeline,),
            start_new_session=True,
            deliver_cancel=_kill,
        )
    return done.returncode


@contextmanager
def _lifeline() -> Generator[int]:
    """Return the reading end of a pipe whose other end only this process has.

    The kernel closes it when this process ends.
    """
    reading, writing = os.pipe()
    try:
        yield reading
    finally:
        os.close(reading)
        os.close(writing)


async def _kill(process: trio.Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _forget_result(job: Job) -> None:
    """Remove the results of an earlier try of the same job, which may be incomplete."""
    (Path(job.folder) / RESULT).unlink(missing_ok=True)


def _outcome(job: Job, code: int | None, patience: float, read: Read[T]) -> T:
    """Return the result. `code` is None when the time was over."""
    words = _last_words(job)
    try:
        made = _result(job, read)
        # FFmpeg may exit with 0 although the disk was full at its last bytes.
        if NO_SPACE in words:
            raise full(Path(job.folder))
    except FileRefused:
        if _out_of_space(job, words):
            raise full(Path(job.folder)) from None
        raise
    except (OSError, ValueError, LookupError, TypeError) as error:
        if machine_fault(error):
            raise
        if _out_of_space(job, words):
            raise full(Path(job.folder)) from error
        raise _broken(code, words, error, patience) from error
    return made


def _result(job: Job, read: Read[T]) -> T:
    take_back(job)
    with (Path(job.folder) / RESULT).open("rb") as file:
        return read(orjson.loads(file.read(LARGEST_RESULT)), job)


def _out_of_space(job: Job, words: str) -> bool:
    return NO_SPACE in words or free_bytes(Path(job.folder)) < FULL


def _broken(code: int | None, words: str, error: Exception, patience: float) -> ProcessingFailed:
    if code is None:
        return ProcessingFailed(f"not done within {patience:g} s", public=True)
    if code < 0:
        return ProcessingFailed(f"killed by signal {-code} ({_name(-code)})", killed=True, public=True)
    last = words.splitlines()[-1] if words else describe(error)
    return ProcessingFailed(f"exit code {code}: {last[:LONGEST_CAUSE]}", killed=KILLED in last)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def _last_words(job: Job) -> str:
    try:
        with (Path(job.folder) / LAST_WORDS).open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - MOST_WORDS))
            return file.read().decode("utf-8", "replace").strip()
    except FileNotFoundError:
        return ""
