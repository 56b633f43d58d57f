"""Reading pictures of custom emoji from a file, a folder or a tar archive.

An archive may come from a stranger. Its files are read into memory and never unpacked, links and names that lead
elsewhere are refused, and it is given up when it is unzipped to more than the limit.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import IO

from ...actors.rules.emojis import CATEGORY_CHARACTERS, SHORTCODE, is_category
from ...actors.rules.limits import EMOJI_BYTES

MOST_PICTURES = 1000
LARGEST_SOURCE = 128 * 1024 * 1024  # bytes of all files of an archive, unzipped
ENDINGS = {".png", ".gif", ".webp", ".avif"}
GZIP = b"\x1f\x8b"


class InvalidEmoji(Exception):
    """Raised when an emoji can't be added or removed. The text says why, and names the file of an import."""


@dataclass(frozen=True, slots=True)
class EmojiFile:
    """A picture with the name of its emoji. `where` names its file in an import."""

    shortcode: str
    picture: bytes
    where: str = ""

    def __post_init__(self) -> None:
        if not SHORTCODE.fullmatch(self.shortcode):
            raise InvalidEmoji(
                f"{self.where}the name {self.shortcode!r} is not 2 to 100 letters a to z, digits and underscores"
            )
        if len(self.picture) > EMOJI_BYTES:
            raise InvalidEmoji(f"{self.where}the picture has more than {EMOJI_BYTES // 1024} KiB")


@dataclass(frozen=True, slots=True)
class EmojiTerms:
    """The options for all emoji of one command."""

    category: str | None
    visible_in_picker: bool
    replace: bool

    def __post_init__(self) -> None:
        if self.category is not None:
            check_category(self.category)


def check_category(category: str) -> None:
    """Raises InvalidEmoji."""
    if not is_category(category):
        raise InvalidEmoji(f"the category has not 1 to {CATEGORY_CHARACTERS} characters")


def read_picture(path: Path) -> bytes:
    """Return the bytes of a file, of one that is too large only some more than allowed."""
    try:
        with path.open("rb") as file:
            return file.read(EMOJI_BYTES + 1)
    except OSError as error:
        raise InvalidEmoji(f"{path} can't be read: {error.strerror}") from None


def read_pictures(source: Path) -> list[EmojiFile]:
    """Return the pictures of a folder or of an archive, in the order of their names."""
    files = sorted(_of_folder(source) if source.is_dir() else _of_archive(source), key=lambda file: file.shortcode)
    for one, other in pairwise(files):
        if one.shortcode == other.shortcode:
            raise InvalidEmoji(f"{other.where}there is another file for :{one.shortcode}:")
    if not files:
        raise InvalidEmoji(f"{source} has no pictures")
    return files


def _of_folder(folder: Path) -> Iterator[EmojiFile]:
    """Yield the pictures of a folder. Links in it are left out: they may lead anywhere."""
    paths = [path for path in folder.iterdir() if _is_picture(path.name) and not path.is_symlink() and path.is_file()]
    if len(paths) > MOST_PICTURES:
        raise InvalidEmoji(f"{folder} has more than {MOST_PICTURES} pictures")
    for path in paths:
        yield EmojiFile(path.stem, read_picture(path), f"{path.name}: ")


def _of_archive(path: Path) -> Iterator[EmojiFile]:
    try:
        with path.open("rb") as raw:
            zipped = raw.read(len(GZIP)) == GZIP
            raw.seek(0)
            plain = _Limited(gzip.GzipFile(fileobj=raw) if zipped else raw)
            # As a stream, forwards only: `tarfile` then reads the file once and never jumps by what a header says.
            with tarfile.open(fileobj=plain, mode="r|", encoding="utf-8", errors="replace") as archive:
                yield from _members(archive)
    except (tarfile.TarError, EOFError, zlib.error, ValueError, OverflowError, RecursionError) as error:
        raise InvalidEmoji(f"{path} is not a tar archive, or is damaged: {error}") from None
    except OSError as error:
        raise InvalidEmoji(f"{path} can't be read: {error.strerror or error}") from None


def _members(archive: tarfile.TarFile) -> Iterator[EmojiFile]:
    count = 0
    for member in archive:
        name = PurePosixPath(member.name)
        if name.is_absolute() or ".." in name.parts:
            raise InvalidEmoji(f"the archive has a file {member.name!r}, which leads out of it")
        if member.isdir() or not _is_picture(name.name):
            continue
        if not member.isreg():
            raise InvalidEmoji(f"{name.name}: it is a link or another special file")
        if (count := count + 1) > MOST_PICTURES:
            raise InvalidEmoji(f"the archive has more than {MOST_PICTURES} pictures")
        yield EmojiFile(name.stem, _content(archive, member), f"{name.name}: ")


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    content = archive.extractfile(member)
    return b"" if content is None else content.read(EMOJI_BYTES + 1)


def _is_picture(name: str) -> bool:
    """True by the ending of a name. Hidden files are none: archivers of macOS add `._cat.png` to `cat.png`."""
    return PurePosixPath(name).suffix.lower() in ENDINGS and not name.startswith(".")


class _Limited(io.RawIOBase):
    """A file that can't be read beyond the limit: a small archive may be unzipped to terabytes."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile) -> None:
        self._file = file
        self._left = LARGEST_SOURCE

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        data = self._file.read(min(size, self._left + 1) if size >= 0 else self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise InvalidEmoji(f"the archive has more than {LARGEST_SOURCE // 1024**2} MiB when it is unzipped")
        return data
