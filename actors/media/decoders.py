"""The decoders of each kind of picture: libvips, and others for files that libvips can't read.

libvips reads one frame of a PNG, no sequences of AVIF, and no HEIC (its wheel has no decoder of HEVC). Pillow reads the
frames of the first two. libheif reads HEIC: the wheel of pi-heif has it with a decoder alone, in 1.5 MB; pillow-heif
would bring encoders under the GPL. Both are imported only for the files that need them, because they take 50 ms.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyvips

from ..rules.limits import IMAGE_PIXELS
from .jobs import UNVERIFIED, FileRefused

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

ANIMATION_PIXELS = 921_600  # of one frame
ANIMATION_PIXELS_IN_ALL = 200_000_000
# Pillow's frames are all in memory, with four bytes a pixel. Larger animations become still pictures.
PILLOW_PIXELS_IN_ALL = 50_000_000
USUAL_DELAY = 100  # milliseconds, of a frame without a delay, or with a shorter delay than browsers accept
SHORTEST_DELAY = 11
HEADERS = 64 * 1024  # bytes in front of the pixels of a PNG; a colour profile is the longest header

END_OF_JPEG = b"\xff\xd9"

# The loader for each kind. The file itself never chooses its loader.
LOADERS: dict[str, Callable[..., Any]] = {
    "jpeg": pyvips.Image.jpegload,
    "png": pyvips.Image.pngload,
    "gif": pyvips.Image.gifload,
    "webp": pyvips.Image.webpload,
    "avif": pyvips.Image.heifload,
}
WITH_FRAMES = {"gif", "webp"}  # of which libvips reads all frames


def import_decoders(kind: str, source: Path) -> None:
    """Import the decoders that a file needs. Once confined, the process can't read its own libraries."""
    if moves(kind, source):
        _pillow_file(kind)
    if kind == "heic":
        import_module("pi_heif")


def moves(kind: str, source: Path) -> bool:
    """True for a PNG or an AVIF that says it has several frames."""
    if kind not in ("png", "avif"):
        return False
    with source.open("rb") as file:
        head = file.read(HEADERS)
    if kind == "png":
        return b"acTL" in head.partition(b"IDAT")[0]
    return b"avis" in head[: int.from_bytes(head[:4])]  # a brand of its first box


def open_image(kind: str, source: str) -> pyvips.Image:
    """Open an image, or its first frame. Raises FileRefused if it can't be read, or has too many pixels."""
    try:
        image = _open_heic(source) if kind == "heic" else _open(kind, source)
        frames = frames_of(image) if kind in WITH_FRAMES else 1
    except pyvips.Error as error:
        raise FileRefused(UNVERIFIED) from error
    pixels = image.width * image.height
    _check_size(image.width, image.height)
    if frames > 1 and (pixels > ANIMATION_PIXELS or pixels * frames > ANIMATION_PIXELS_IN_ALL):
        raise FileRefused(f"{image.width}x{image.height} animations with {frames} frames are not supported")
    return image


def open_frames(kind: str, source: str, image: pyvips.Image) -> pyvips.Image | None:
    """Return all frames of an opened image, stacked vertically. None if it does not move."""
    if kind in WITH_FRAMES:
        frames = frames_of(image)
        return LOADERS[kind](source, n=frames, fail_on="error") if frames > 1 else None
    return _frames_by_pillow(kind, source) if moves(kind, Path(source)) else None


def frames_of(image: pyvips.Image) -> int:
    return image.get_n_pages()


def _open(kind: str, source: str) -> pyvips.Image:
    if kind == "avif" and moves(kind, Path(source)):
        frames = _frames_by_pillow(kind, source, most=1)
        if frames is None:
            raise FileRefused(UNVERIFIED)
        return frames
    if kind == "jpeg":
        return _open_jpeg(source)
    return LOADERS[kind](source, fail_on="error")


def _open_jpeg(source: str) -> pyvips.Image:
    """Open a JPEG, also a JPEG without the end marker, which some cameras and programs leave out.

    The marker is added; a JPEG that was cut within its pixels is still refused.
    """
    data = Path(source).read_bytes()
    if data.endswith(END_OF_JPEG):
        return pyvips.Image.jpegload(source, fail_on="error")
    return pyvips.Image.jpegload_buffer(data + END_OF_JPEG, fail_on="warning")


def _pillow_file(kind: str) -> type[ImageFile]:
    """Return Pillow's class for the files of a kind. Its `Image.open` was turned down: it imports more formats."""
    if kind == "png":
        # Late: the process decodes one file. Each format takes 9 ms, which is most of its time.
        from PIL.PngImagePlugin import PngImageFile

        return PngImageFile
    from PIL.AvifImagePlugin import AvifImageFile  # late: see above

    return AvifImageFile


def _frames_by_pillow(kind: str, source: str, most: int | None = None) -> pyvips.Image | None:
    """Return the frames of a moving PNG or AVIF. None if they can't be read, or are too many: it stands still then."""
    try:
        film: Any  # only formats with frames have these properties
        with _pillow_file(kind)(source) as film:
            # The image that programs show which know no animation may be no part of it.
            first = 1 if film.info.get("default_image") else 0
            numbers = range(first, film.n_frames)[:most]
            _check_size(film.width, film.height)
            pixels = film.width * film.height
            if most is None and (pixels > ANIMATION_PIXELS or pixels * len(numbers) > PILLOW_PIXELS_IN_ALL):
                return None
            frames: list[pyvips.Image] = []
            delays: list[int] = []
            for number in numbers:
                film.seek(number)
                frames.append(_of_memory(film.convert("RGBA").tobytes(), film.width, film.height, 4))
                delay = round(film.info.get("duration") or 0)
                delays.append(delay if delay >= SHORTEST_DELAY else USUAL_DELAY)
            loop = int(film.info.get("loop") or 0)
    except (OSError, SyntaxError, ValueError, EOFError, ArithmeticError, LookupError):
        return None
    if len(frames) == 1:
        return frames[0]
    stacked = pyvips.Image.arrayjoin(frames, across=1).copy()
    stacked.set_type(pyvips.GValue.gint_type, "page-height", frames[0].height)
    stacked.set_type(pyvips.GValue.array_int_type, "delay", delays)
    stacked.set_type(pyvips.GValue.gint_type, "loop", loop)
    return stacked


def _open_heic(source: str) -> pyvips.Image:
    """Return a photo, upright as its file says, with its colour profile: phones use other colours than sRGB."""
    import pi_heif  # pyright: ignore[reportMissingTypeStubs]  # it has none; late: it takes 10 ms

    try:
        photo: Any = pi_heif.open_heif(source)  # pyright: ignore[reportUnknownMemberType]  # it has no types
        width, height = photo.size
        _check_size(width, height)
        decoded = photo.to_pillow()
        image = _of_memory(decoded.tobytes(), width, height, len(decoded.getbands()))
    except (OSError, SyntaxError, ValueError, EOFError, RuntimeError, LookupError) as error:
        raise FileRefused(UNVERIFIED) from error
    if profile := photo.info.get("icc_profile"):
        image.set_type(pyvips.GValue.blob_type, "icc-profile-data", profile)
    return image


def _of_memory(data: bytes, width: int, height: int, bands: int) -> pyvips.Image:
    image = pyvips.Image.new_from_memory(data, width, height, bands, "uchar")
    return image.copy(interpretation="srgb" if bands > 2 else "b-w")


def _check_size(width: int, height: int) -> None:
    if width * height > IMAGE_PIXELS:
        raise FileRefused(f"{width}x{height} images are not supported")
