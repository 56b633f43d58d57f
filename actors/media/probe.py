"""The probe of confinement: a process that tries each step of it, to find the steps that this machine lacks.

A server starts it with its first file, or some time after its start. At the start itself it would take a fifth of a
second of CPU from clients that were interrupted.
"""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import orjson
import trio

from ..kernel import Record
from ..kernel.errors import describe
from .jobs import LARGEST_RESULT, RESULT, SOURCE, Job

PATIENCE = 60.0  # seconds
LATEST = 30.0  # seconds after the start


async def probe(run: Callable[[Job], Awaitable[object]], ffmpeg: str | None, ffprobe: str | None) -> list[str]:
    """Return the missing steps, for the log. `run` runs a job in a process of its own."""
    try:
        with tempfile.TemporaryDirectory(prefix="troupe-probe-") as folder:
            source = Path(folder) / SOURCE
            source.touch(mode=0o600)
            job = Job("probe", "", str(source), folder, "probe", ffmpeg or "", ffprobe or "")
            with trio.move_on_after(PATIENCE):
                await run(job)
            with (Path(folder) / RESULT).open("rb") as file:
                return orjson.loads(file.read(LARGEST_RESULT))["missing"]
    except (OSError, ValueError) as error:
        return [f"a process that could find out ({describe(error)})"]


async def report_missing(first_file: trio.Event, look: Callable[[], Awaitable[list[str]]], record: Record) -> None:
    """Log the missing steps once, because they affect every job. `look` is the probe."""
    with trio.move_on_after(LATEST):
        await first_file.wait()
    if missing := await look():
        error = f"without {', '.join(missing)}"
        record("confinement.incomplete", error=error, decision="media is processed all the same")
