"""The program of a media process: reads a job from standard input, confines itself, and writes its result to a file.

Untrusted files are decoded in no other place. A flaw in a decoder gives an attacker a process that can read the file
and write the results, and do nothing more: see `confinement`.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import select
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from ...storage.media import ProcessedMedia
from .confinement import MIB, Files, Limits, confine
from .jobs import RESULT, SOURCE, UNVERIFIED, FileRefused, Job, made_to_json, refused_to_json, results_of

# A large image takes 130 MiB of pixels, and some formats need them twice; x264 keeps dozens of frames.
IMAGE = Limits(memory=1024 * MIB, seconds=30, file_size=256 * MIB, tasks=128)
PAGE = Limits(memory=512 * MIB, seconds=5, file_size=1 * MIB, tasks=64)
FILM = Limits(memory=3072 * MIB, seconds=900, file_size=256 * MIB, tasks=256)


def main() -> None:
    gc.disable()  # the process ends before there is much to collect
    if len(sys.argv) > 1:
        _end_with_server(int(sys.argv[-1]))
    job = _finish(Job(**json.loads(sys.stdin.read())))
    # libvips would put large images into temporary files, which a confined process can't make.
    os.environ["VIPS_DISC_THRESHOLD"] = str(IMAGE.memory)
    programs = tuple(Path(program) for program in (job.ffmpeg, job.ffprobe) if program)
    results = tuple(Path(name) for name in results_of(job))
    work = _work(job)
    limits = PAGE if job.task == "page" else FILM if programs else IMAGE
    missing = confine(limits, Files(Path(), Path(SOURCE), results, programs))
    Path(RESULT).write_text(work(missing), "utf-8")


def _work(job: Job) -> Callable[[list[str]], str]:
    """Return the function that does the job. It takes the missing steps of confinement, and returns the result.

    Only the modules that the job needs are imported, because imports are most of the time of a small job. They are
    imported here: once confined, the process can't read its own libraries.
    """
    if job.task == "page":
        # Late, as below: the process does a single job, and imports are most of its time. The reader of pages takes 9
        # ms, the makers of films take 14 ms, libvips takes 10 ms.
        from . import pages

        pages.load_encodings(Path(SOURCE), job.kind)
        return lambda missing: pages.make_page(job)
    if job.task == "probe":
        from . import child_processes  # late: see above

        return partial(_probed, child_processes.run_program, job)
    make = _maker(job)
    return lambda missing: _made(make, job)


def _maker(job: Job) -> Callable[[Job], ProcessedMedia]:
    if job.ffmpeg:
        from . import films  # late: see above

        return films.make_gif if job.task == "image" else films.make_film
    from . import decoders, images  # late: see above

    decoders.import_decoders(job.kind, Path(SOURCE))
    makers = {
        "image": images.make_image,
        "picture": images.make_picture,
        "thumbnail": images.make_thumbnail,
        "emoji": images.make_emoji,
    }
    return makers[job.task]


def _end_with_server(pipe: int) -> None:
    """Have the kernel end this process and its children when the other end of the pipe is closed.

    Only the server has that end, so it is closed in every case when the server ends. The kernel then sends SIGIO to the
    whole group. A parent death signal was turned down: it comes already when the thread ends that started this process.
    """
    fcntl.fcntl(pipe, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([pipe], [], [], 0)[0]:
        sys.exit("the server is gone")


def _finish(job: Job) -> Job:
    """Enter the job's folder, and create its results as empty files: later none can be made."""
    os.chdir(job.folder)
    if not Path(SOURCE).exists():
        os.link(job.source, SOURCE)
    for name in results_of(job):
        Path(name).unlink(missing_ok=True)
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    return replace(job, source=SOURCE, folder=".")


def _probed(run_program: Callable[..., bytes], job: Job, missing: list[str]) -> str:
    """Return the steps of confinement that this machine lacks.

    The programs are tried as well: a confined process may not be able to read them.
    """
    for program in filter(None, (job.ffmpeg, job.ffprobe)):
        try:
            run_program(program, "-version")
        except (OSError, FileRefused) as error:
            missing = [*missing, f"a way to run {program} ({error or type(error).__name__})"]
    return json.dumps({"missing": missing})


def _made(make: Callable[[Job], ProcessedMedia], job: Job) -> str:
    import pyvips  # late: the maker's module has imported it already

    pyvips.block_untrusted_set(True)
    pyvips.cache_set_max(0)
    try:
        return made_to_json(make(job))
    except FileRefused as refusal:
        return refused_to_json(str(refusal))
    except pyvips.Error as error:
        print(error, file=sys.stderr)  # noqa: T201 - the server stores the error output of a failed process
        return refused_to_json(UNVERIFIED)


if __name__ == "__main__":
    main()
