"""Decoding images, in a process of its own: named loaders only, a limit on pixels, and no metadata in the result."""

from __future__ import annotations

from math import isqrt
from pathlib import Path

import blurhash  # pyright: ignore[reportMissingTypeStubs]  # it has none
import pyvips

from ...storage.engine.json_values import JsonObject
from ...storage.media import ProcessedMedia
from .decoders import LOADERS, open_frames, open_image
from .jobs import Job, small_of

LARGEST_ORIGINAL = 8_294_400  # pixels; more is scaled down
LARGEST_SMALL = 230_400
LONGEST_SIDE = 16_383  # that a WebP can have
EMOJI_SIDE = 256  # pixels: several times the size in clients, for sharp screens
BLURHASH_SIDE = 32  # the hash has four waves a side; more pixels would not change it
BLURHASH_COMPONENTS = 4

NOTHING = 0  # of metadata is kept


def make_image(job: Job) -> ProcessedMedia:
    """Make the image to show, without metadata, and a small image. All frames of an animation are encoded again."""
    image = open_image(job.kind, job.source)
    frames = open_frames(job.kind, job.source, image)
    if frames is not None:
        file, file_type = _save_frames(frames, job)
    else:
        file, file_type = save(_fitting(image, LARGEST_ORIGINAL), Path(job.folder), job.name, job.kind)
    return finished(job, "image", file, file_type)


def make_picture(job: Job) -> ProcessedMedia:
    """Make a picture for a profile: cut to the given size, not animated."""
    image = open_image(job.kind, job.source)
    cut = image.thumbnail_image(
        job.width, height=job.height, size="both", crop="centre", output_profile="srgb", fail_on="error"
    )
    file, file_type = save(cut, Path(job.folder), job.name, "png" if cut.hasalpha() else "jpeg")
    return ProcessedMedia("image", file, file_type, (Path(job.folder) / file).stat().st_size, None, None, {})


def make_thumbnail(job: Job) -> ProcessedMedia:
    """Make only the thumbnail of a medium, from a picture that its owner chose."""
    image = open_image(job.kind, job.source)
    small, blur, size = make_small(image, job)
    return ProcessedMedia("image", small, "image/webp", _size(job, small), small, blur, {"small": size})


def make_emoji(job: Job) -> ProcessedMedia:
    """Make the picture of a custom emoji and, if it moves, a still picture."""
    image = open_image(job.kind, job.source)
    frames = open_frames(job.kind, job.source, image)
    if frames is None:
        file, file_type = save(_emoji_sized(image), Path(job.folder), job.name, job.kind)
        return ProcessedMedia("image", file, file_type, _size(job, file), None, None, {})
    still = small_of(job)
    file, file_type = _save_frames(_emoji_sized(frames), job)
    _emoji_sized(image).webpsave(str(Path(job.folder) / still), lossless=True, keep=NOTHING)
    return ProcessedMedia("image", file, file_type, _size(job, file), still, None, {})


def _emoji_sized(image: pyvips.Image) -> pyvips.Image:
    return image.thumbnail_image(EMOJI_SIDE, height=EMOJI_SIDE, size="down", output_profile="srgb", fail_on="error")


def _size(job: Job, file: str) -> int:
    return (Path(job.folder) / file).stat().st_size


def _save_frames(image: pyvips.Image, job: Job) -> tuple[str, str]:
    """Write all frames of an image: of a GIF as a GIF, else as a WebP. Return its name and type.

    Data between the frames is left out.
    """
    if job.kind == "gif":
        image.gifsave(str(Path(job.folder) / f"{job.name}.gif"), keep=NOTHING)
        return f"{job.name}.gif", "image/gif"
    image.webpsave(str(Path(job.folder) / f"{job.name}.webp"), keep=NOTHING)
    return f"{job.name}.webp", "image/webp"


def finished(job: Job, type: str, file: str, file_type: str) -> ProcessedMedia:
    """Return the facts about an image that was written, and its small picture made from it."""
    path = Path(job.folder) / file
    image = LOADERS[file_type.removeprefix("image/")](str(path))
    small, blur, size = make_small(image, job)
    original = size_of(image.width, image.get_page_height())
    return ProcessedMedia(
        type, file, file_type, path.stat().st_size, small, blur, {"original": original, "small": size}
    )


def make_small(image: pyvips.Image, job: Job) -> tuple[str, str, JsonObject]:
    """Return the small picture's name, its blurhash and its size."""
    small = _fitting(image, LARGEST_SMALL).copy_memory()
    file = small_of(job)
    small.webpsave(str(Path(job.folder) / file), Q=80, keep=NOTHING)
    return file, _blurhash(small), size_of(small.width, small.height)


def save(image: pyvips.Image, folder: Path, name: str, kind: str) -> tuple[str, str]:
    """Write an image in its own format, or in a format that every client knows. Return its name and type."""
    if kind in ("jpeg", "heic"):
        image.jpegsave(str(folder / f"{name}.jpg"), Q=88, keep=NOTHING, optimize_coding=True)
        return f"{name}.jpg", "image/jpeg"
    if kind in ("png", "gif"):
        image.pngsave(str(folder / f"{name}.png"), compression=6, keep=NOTHING)
        return f"{name}.png", "image/png"
    image.webpsave(str(folder / f"{name}.webp"), Q=88, keep=NOTHING)
    return f"{name}.webp", "image/webp"


def size_of(width: int, height: int) -> JsonObject:
    return {"width": width, "height": height, "size": f"{width}x{height}", "aspect": width / height}


def _fitting(image: pyvips.Image, pixels: int) -> pyvips.Image:
    """Return the image upright, in sRGB with 8 bits, and with no more than the given number of pixels."""
    width, height = max(image.width, 1), max(image.get_page_height(), 1)
    if width * height > pixels:
        width, height = max(isqrt(pixels * width // height), 1), max(isqrt(pixels * height // width), 1)
    # A square, because the orientation that is applied may swap width and height.
    side = min(max(width, height), LONGEST_SIDE)
    fitting = image.thumbnail_image(side, height=side, size="down", output_profile="srgb", fail_on="error")
    return fitting.colourspace("srgb").cast("uchar")


def _blurhash(image: pyvips.Image) -> str:
    side = BLURHASH_SIDE
    tiny = image.thumbnail_image(side, height=side, size="both")
    if tiny.hasalpha():
        tiny = tiny.flatten(background=[255, 255, 255])
    raw, width = tiny.cast("uchar").write_to_memory(), tiny.width
    rows = [[list(raw[3 * (y * width + x) :][:3]) for x in range(width)] for y in range(tiny.height)]
    # blurhash does not declare the type of the rows.
    return blurhash.encode(rows, BLURHASH_COMPONENTS, BLURHASH_COMPONENTS)  # pyright: ignore[reportUnknownMemberType]
