"""A probe of what this machine lacks to confine media processes: one process at start that tries each step."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import orjson
import trio

from ..kernel.errors import describe
from .jobs import LARGEST_RESULT, RESULT, SOURCE, Job

PATIENCE = 60.0  # seconds


async def probe(run: Callable[[Job], Awaitable[object]], ffmpeg: str | None, ffprobe: str | None) -> list[str]:
    """Return what is missing, in words. `run` runs a job in a process of its own."""
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
