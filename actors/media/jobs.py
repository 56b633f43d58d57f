"""The jobs of media processes and their results: JSON in both directions, and files in one folder."""

from __future__ import annotations

import json
import math
import os
import re
import stat
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from ...storage.engine.json_values import JsonObject, is_object
from ...storage.media import ProcessedMedia
from ..rules.file_types import TYPES

SOURCE = "source"
RESULT = "result.json"
LARGEST_RESULT = 64 * 1024

Task = Literal["image", "picture", "thumbnail", "film", "copy", "emoji", "page", "probe"]

OF_IMAGES = {
    "jpeg": ("jpg",), "png": ("png", "webp"), "gif": ("gif", "png"), "webp": ("webp",), "avif": ("webp",),
    "heic": ("jpg",),
}  # fmt: skip
ENDINGS: dict[Task, tuple[str, ...]] = {"picture": ("jpg", "png"), "thumbnail": (), "film": (), "copy": ()}
OF_FILMS = ("mp4", "mp3", "png")  # the picture is a still

BLURHASH = re.compile(r"[0-9A-Za-z#$%*+,.:;=?@\[\]^_{|}~-]{6,100}")
MOST_FACTS = 20
LONGEST_FACT = 100  # characters
LARGEST_FACT = 2**53


@dataclass(frozen=True, slots=True)
class Job:
    """A file to process. Results are written to `folder`, under names that begin with `name`.

    The task `copy` is `film` for a film of another server: a film that browsers can play is not encoded again. The task
    `page` makes no file: it returns the facts that a web page states. Its kind is the encoding that the page's server
    named. The task `probe` returns the steps of confinement that this machine lacks.
    """

    task: Task
    kind: str
    source: str
    folder: str
    name: str
    # The folders of the programs, if the file may be a film.
    ffmpeg: str = ""
    ffprobe: str = ""
    # The size that a picture is cut to.
    width: int = 0
    height: int = 0

    def to_json(self) -> str:
        return json.dumps(asdict(self))


class FileRefused(Exception):
    """Raised when the file is not of an accepted kind. The text is shown to its sender."""


UNVERIFIED = "File type of uploaded media could not be verified"


def results_of(job: Job) -> tuple[str, ...]:
    """Return the names of all files that a process may write for a job."""
    if job.task in ("page", "probe"):
        return (RESULT,)
    endings = ENDINGS.get(job.task, OF_IMAGES.get(job.kind, ()))
    films = OF_FILMS if job.ffmpeg else ()
    names = dict.fromkeys(f"{job.name}.{ending}" for ending in (*endings, *films))
    return (*names, small_of(job), RESULT)


def small_of(job: Job) -> str:
    """Return the name of the small picture."""
    return f"{job.name}-small.webp"


def made_to_json(made: ProcessedMedia) -> str:
    return json.dumps({"made": asdict(made)})


def refused_to_json(text: str) -> str:
    return json.dumps({"refused": text})


def made_of(result: JsonObject, job: Job) -> ProcessedMedia:
    """Return the result of a process.

    An attacker may control the process, so each part is checked. Raises ValueError.
    """
    if "refused" in result:
        raise FileRefused(str(result["refused"])[:500])
    made = ProcessedMedia(**result["made"])
    if made.file not in results_of(job) or made.thumbnail_file not in (None, small_of(job)):
        raise ValueError(f"made {made.file!r} and {made.thumbnail_file!r}, which are not its own")
    content_type, types = TYPES[made.file.rpartition(".")[2]]
    if made.file_type != content_type or made.type not in types:
        raise ValueError(f"made {made.file!r}, and calls it {made.type!r} and {made.file_type!r}")
    if made.blurhash is not None and not BLURHASH.fullmatch(made.blurhash):
        raise ValueError("the blurhash is not valid")
    if not _is_number(made.file_size) or not _are_facts(made.meta):
        raise ValueError("the facts about the file are not facts")
    return made


def _are_facts(facts: object, depth: int = 2) -> bool:
    """True for numbers and short texts by name, nested once at most."""
    return (
        is_object(facts)
        and len(facts) <= MOST_FACTS
        and all(
            _is_text(name) and (_is_text(fact) or _is_number(fact) or (depth > 1 and _are_facts(fact, depth - 1)))
            for name, fact in facts.items()
        )
    )


def _is_text(fact: object) -> bool:
    return isinstance(fact, str) and len(fact) <= LONGEST_FACT and fact.isprintable()


def _is_number(fact: object) -> bool:
    return isinstance(fact, int | float) and math.isfinite(fact) and abs(fact) <= LARGEST_FACT


def take_back(job: Job) -> None:
    """Make the server the owner of the results. When the server runs as root, media processes write as another user."""
    if os.geteuid() != 0:
        return
    for name in results_of(job):
        path = Path(job.folder) / name
        if path.exists() and stat.S_ISREG(path.lstat().st_mode):
            os.chown(path, 0, 0, follow_symlinks=False)
