"""What the server asks of a media process, and what it answers: JSON in both directions, and files in one folder."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ...storage.media import Made

RESULT = "result.json"
LARGEST_RESULT = 64 * 1024

Task = Literal["image", "picture", "thumbnail", "film"]


@dataclass(frozen=True, slots=True)
class Job:
    """One file to make something of. Results are written to `folder`, under names that begin with `name`."""

    task: Task
    kind: str
    source: str
    folder: str
    name: str
    # Where the programs are, for what may be a film.
    ffmpeg: str = ""
    ffprobe: str = ""
    # What a picture is cut to.
    width: int = 0
    height: int = 0

    def to_json(self) -> str:
        return json.dumps(asdict(self))


class Refused(Exception):
    """The file is not what is taken; the text is for whoever sent it."""


UNVERIFIED = "File type of uploaded media could not be verified"


def made_to_json(made: Made) -> str:
    return json.dumps({"made": asdict(made)})


def refused_to_json(text: str) -> str:
    return json.dumps({"refused": text})


def made_of(result: dict[str, Any], job: Job) -> Made:
    """The result of a process, believed no further than its job goes."""
    if "refused" in result:
        raise Refused(str(result["refused"])[:500])
    made = Made(**result["made"])
    for file in (made.file, made.thumbnail_file):
        if file is not None and not file.startswith(job.name):
            raise ValueError(f"made {file!r}, which is not its own")
    return made
