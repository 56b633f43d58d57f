"""The program of a media process: one job from standard input, done under limits, its result in a file.

A file that strangers made is decoded nowhere else. Whatever it does to a decoder, it does to a process that has no
network, little memory, no secrets in its environment, and an end.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ...storage.media import Made
from .confinement import MIB, confine
from .jobs import RESULT, UNVERIFIED, Job, Refused, made_to_json, refused_to_json

# A large image takes 130 MiB of pixels, and some formats need them twice; x264 keeps dozens of frames.
IMAGE_MEMORY, IMAGE_SECONDS = 1024 * MIB, 30
FILM_MEMORY, FILM_SECONDS = 3072 * MIB, 900
LARGEST_FILE = 256 * MIB


def main() -> None:
    job = Job(**json.loads(sys.stdin.read()))
    film = job.ffmpeg != ""
    confine(
        memory=FILM_MEMORY if film else IMAGE_MEMORY,
        seconds=FILM_SECONDS if film else IMAGE_SECONDS,
        file_size=LARGEST_FILE,
    )
    (Path(job.folder) / RESULT).write_text(_result(job), "utf-8")


def _result(job: Job) -> str:
    # Imported here, so that the libraries start under the limits.
    import pyvips

    from . import films, images

    def make_image(job: Job) -> Made:
        """What moves in a GIF is shown as a film, where there is ffmpeg: in a tenth of the bytes."""
        moves = job.ffmpeg and job.kind == "gif" and images.frames_of(images.open_image(job.kind, job.source)) > 1
        return films.make_film(job) if moves else images.make_image(job)

    tasks = {
        "image": make_image,
        "picture": images.make_picture,
        "thumbnail": images.make_thumbnail,
        "film": films.make_film,
    }
    pyvips.block_untrusted_set(True)
    pyvips.cache_set_max(0)
    try:
        return made_to_json(tasks[job.task](job))
    except Refused as refusal:
        return refused_to_json(str(refusal))
    except pyvips.Error as error:
        print(error, file=sys.stderr)  # noqa: T201 - the server keeps what a failed process says
        return refused_to_json(UNVERIFIED)


if __name__ == "__main__":
    main()
