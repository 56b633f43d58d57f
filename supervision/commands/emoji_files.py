"""Reading pictures of custom emoji from a file, a folder, or a tar or zip archive.

An archive may come from a stranger. Its files are read into memory and never unpacked, links and names that lead
elsewhere are refused, and reading ends when it is unzipped to more than the limit.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import stat
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from ...actors.rules.emojis import CATEGORY_CHARACTERS, SHORTCODE, is_category
from ...actors.rules.limits import EMOJI_BYTES
from ...storage.engine.json_values import list_or_empty, object_or_empty
from .refusals import Unfit

MOST_PICTURES = 1000
LARGEST_SOURCE = 128 * 1024 * 1024  # bytes of all files of an archive, unzipped
ENDINGS = {".png", ".gif", ".webp", ".avif"}
LARGEST_MANIFEST = 4 * 1024 * 1024
# Files that list the pictures beside them: of Pleroma and Akkoma, and of Misskey.
MANIFESTS = {"pack.json", "meta.json"}
GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"
UNFIT = re.compile(r"[^A-Za-z0-9_]+")
NOT_A_FILE = "it is a link or another special file"


class InvalidEmoji(Unfit):
    """Raised when an emoji can't be added or removed. The text says why, and names the file of an import."""


@dataclass(frozen=True, slots=True)
class EmojiFile:
    """A picture with the name of its emoji. `where` names its file in an import."""

    shortcode: str
    picture: bytes
    where: str = ""
    category: str | None = None  # as a manifest says

    def __post_init__(self) -> None:
        if not SHORTCODE.fullmatch(self.shortcode):
            raise InvalidEmoji(
                f"{self.where}the name {self.shortcode!r} is not 2 to 100 letters a to z, digits and underscores"
            )
        if len(self.picture) > EMOJI_BYTES:
            raise InvalidEmoji(f"{self.where}the picture has more than {EMOJI_BYTES // 1024} KiB")


@dataclass(frozen=True, slots=True)
class Pack:
    """The pictures of an import, the names that were changed, and the files that are refused, each with its reason."""

    files: list[EmojiFile] = field(default_factory=list[EmojiFile])
    renamed: list[str] = field(default_factory=list[str])
    refusals: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class _Found:
    """A picture or a manifest of a source, or the reason why it can't be read."""

    path: PurePosixPath
    content: bytes = b""
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class _Listed:
    """The name and the category that a manifest gives to a file."""

    name: str
    category: str | None


@dataclass(frozen=True, slots=True)
class EmojiTerms:
    """The options for all emoji of a command."""

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
    """Return the bytes of a file. A file that is too large is cut a little above the limit."""
    try:
        with path.open("rb") as file:
            return file.read(EMOJI_BYTES + 1)
    except OSError as error:
        raise InvalidEmoji(f"{path} can't be read: {error.strerror}") from None


def read_pictures(source: Path) -> Pack:
    """Return the pictures of a folder with its subfolders, or of an archive. Raises InvalidEmoji if it has none."""
    found = _of_folder(source) if source.is_dir() else _of_archive(source)
    pictures, listed = list[_Found](), dict[PurePosixPath, _Listed]()
    for file in found:
        if file.path.name in MANIFESTS:
            listed.update(_listed_in(file))
        else:
            pictures.append(file)
    if not pictures:
        raise InvalidEmoji(f"{source} has no pictures")
    pack = Pack()
    # Exact names before derived names: of two emoji with one name, the second is refused.
    for picture in sorted(pictures, key=lambda picture: (not SHORTCODE.fullmatch(picture.path.stem), picture.path)):
        _take(pack, picture, listed.get(picture.path, _Listed(picture.path.stem, None)))
    pack.files.sort(key=lambda file: file.shortcode)
    return pack


def _take(pack: Pack, found: _Found, listed: _Listed) -> None:
    """Put a picture into the pack, or its refusal."""
    shortcode = _shortcode(listed.name)
    where = f"{found.path}: "
    if found.problem or any(file.shortcode == shortcode for file in pack.files):
        pack.refusals.append(where + (found.problem or f"there is another file for :{shortcode}:"))
        return
    try:
        pack.files.append(EmojiFile(shortcode or listed.name, found.content, where, listed.category))
    except InvalidEmoji as unfit:
        pack.refusals.append(str(unfit))
        return
    if shortcode != listed.name:
        pack.renamed.append(f"{found.path} becomes :{shortcode}:")


def _shortcode(name: str) -> str:
    """Return the letters, digits and underscores of a name: accents go, and all other signs become underscores."""
    if SHORTCODE.fullmatch(name):
        return name
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", name) if not unicodedata.combining(sign))
    return UNFIT.sub("_", plain).strip("_")


def _listed_in(manifest: _Found) -> dict[PurePosixPath, _Listed]:
    """Return the names that a manifest gives to files beside it: `pack.json` of Pleroma, or `meta.json` of Misskey."""
    try:
        document: object = json.loads(manifest.content)
    except (ValueError, RecursionError):
        return {}
    # A manifest that has another form lists nothing.
    known, found = object_or_empty(document), dict[PurePosixPath, _Listed]()
    for name, file in object_or_empty(known.get("files")).items():
        if isinstance(file, str):
            found[manifest.path.parent / file] = _Listed(name, None)
    for entry in list_or_empty(known.get("emojis")):
        row = object_or_empty(entry)
        terms, file = object_or_empty(row.get("emoji")), row.get("fileName")
        name, category = terms.get("name"), terms.get("category")
        if isinstance(file, str) and isinstance(name, str):
            heading = category.strip() if isinstance(category, str) and is_category(category) else None
            found[manifest.path.parent / file] = _Listed(name, heading)
    return found


def _of_folder(folder: Path) -> Iterator[_Found]:
    """Yield the pictures and manifests of a folder. Links in it are left out: they may lead anywhere."""
    count = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _is_hidden(name))
        for name in sorted(names):
            path = Path(place, name)
            if not _is_wanted(PurePosixPath(name)) or path.is_symlink() or not path.is_file():
                continue
            if (count := count + 1) > MOST_PICTURES:
                raise InvalidEmoji(f"{folder} has more than {MOST_PICTURES} pictures")
            yield _Found(PurePosixPath(path.relative_to(folder)), _read(path))


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_MANIFEST if path.name in MANIFESTS else EMOJI_BYTES + 1)
    except OSError as error:
        raise InvalidEmoji(f"{path} can't be read: {error.strerror}") from None


def _of_archive(path: Path) -> Iterator[_Found]:
    try:
        with path.open("rb") as raw:
            start = raw.read(len(ZIP))
            raw.seek(0)
            if start == ZIP:
                with zipfile.ZipFile(raw) as archive:
                    yield from _of_zip(archive)
                return
            plain = _Limited(gzip.GzipFile(fileobj=raw) if start.startswith(GZIP) else raw)
            # As a stream, forwards only: `tarfile` then reads the file once and never jumps to an offset in a header.
            with tarfile.open(fileobj=plain, mode="r|", encoding="utf-8", errors="replace") as archive:
                yield from _of_tar(archive)
    except zipfile.BadZipFile as error:
        raise InvalidEmoji(f"{path} is not a zip archive, or is damaged: {error}") from None
    except (tarfile.TarError, EOFError, zlib.error, ValueError, OverflowError, RecursionError) as error:
        raise InvalidEmoji(f"{path} is not a tar archive, or is damaged: {error}") from None
    except OSError as error:
        raise InvalidEmoji(f"{path} can't be read: {error.strerror or error}") from None


def _of_tar(archive: tarfile.TarFile) -> Iterator[_Found]:
    count = 0
    for member in archive:
        name = _checked(member.name)
        if member.isdir() or not _is_wanted(name):
            continue
        count = _counted(count)
        if not member.isreg():
            yield _Found(name, problem=NOT_A_FILE)
            continue
        content = archive.extractfile(member)
        yield _Found(name, b"" if content is None else content.read(_most(name)))


def _of_zip(archive: zipfile.ZipFile) -> Iterator[_Found]:
    """Yield the files of a zip archive. No more is unzipped than a picture may have."""
    count = 0
    for member in archive.infolist():
        name = _checked(member.filename)
        if member.is_dir() or not _is_wanted(name):
            continue
        count = _counted(count)
        mode = member.external_attr >> 16
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            yield _Found(name, problem=NOT_A_FILE)
            continue
        try:
            with archive.open(member) as file:
                yield _Found(name, file.read(_most(name)))
        except (RuntimeError, NotImplementedError, zlib.error, zipfile.BadZipFile) as error:
            yield _Found(name, problem=f"it can't be unzipped: {error}")


def _checked(written: str) -> PurePosixPath:
    """Return the name of a file in an archive. Raises InvalidEmoji for a name that leads out of it."""
    name = PurePosixPath(written)
    if name.is_absolute() or ".." in name.parts:
        raise InvalidEmoji(f"the archive has a file {written!r}, which leads out of it")
    return name


def _counted(count: int) -> int:
    if count >= MOST_PICTURES:
        raise InvalidEmoji(f"the archive has more than {MOST_PICTURES} pictures")
    return count + 1


def _most(name: PurePosixPath) -> int:
    return LARGEST_MANIFEST if name.name in MANIFESTS else EMOJI_BYTES + 1


def _is_wanted(name: PurePosixPath) -> bool:
    """True for manifests, and for pictures by the ending of their name. macOS adds `._cat.png` to `cat.png`."""
    fits = name.suffix.lower() in ENDINGS or name.name in MANIFESTS
    return fits and not any(_is_hidden(part) for part in name.parts)


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name == "__MACOSX"


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
