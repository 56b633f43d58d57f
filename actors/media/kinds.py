"""The kind of a file, by its first bytes. The name and the type that a client gives are ignored."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import IO

HEAD = 64  # bytes that are enough to know the kind


@dataclass(frozen=True, slots=True)
class Kind:
    """An accepted format. `type` is the type of the attachment; decoding may show that it is another type.

    `mimes` are the names that browsers and phones have for it, the registered name first.
    """

    name: str
    type: str
    mimes: tuple[str, ...]


JPEG = Kind("jpeg", "image", ("image/jpeg",))
PNG = Kind("png", "image", ("image/png",))
GIF = Kind("gif", "image", ("image/gif",))
WEBP = Kind("webp", "image", ("image/webp",))
AVIF = Kind("avif", "image", ("image/avif",))
HEIC = Kind("heic", "image", ("image/heic", "image/heif"))
MP4 = Kind("mp4", "video", ("video/mp4", "video/x-m4v", "video/3gpp", "audio/3gpp"))
MOV = Kind("mov", "video", ("video/quicktime",))
WEBM = Kind("webm", "video", ("video/webm", "audio/webm", "video/x-matroska", "audio/x-matroska"))
MP3 = Kind("mp3", "audio", ("audio/mpeg", "audio/mp3"))
OGG = Kind("ogg", "audio", ("audio/ogg", "audio/opus", "audio/vorbis", "video/ogg"))
WAV = Kind("wav", "audio", ("audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"))
FLAC = Kind("flac", "audio", ("audio/flac", "audio/x-flac"))
AAC = Kind("aac", "audio", ("audio/aac", "audio/x-aac"))
M4A = Kind("m4a", "audio", ("audio/mp4", "audio/x-m4a", "audio/m4a"))

IMAGES = (JPEG, PNG, GIF, WEBP, AVIF, HEIC)
EMOJIS = (PNG, GIF, WEBP, AVIF)
FILMS = (MP4, MOV, WEBM)
SOUNDS = (MP3, OGG, WAV, FLAC, AAC, M4A)

BEGINNINGS = (
    (b"\xff\xd8\xff", JPEG),
    (b"\x89PNG\r\n\x1a\n", PNG),
    (b"GIF87a", GIF),
    (b"GIF89a", GIF),
    (b"\x1a\x45\xdf\xa3", WEBM),
    (b"OggS", OGG),
    (b"fLaC", FLAC),
    (b"ID3", MP3),
)
RIFF = {b"WEBP": WEBP, b"WAVE": WAV}
BRANDS = {b"avif": AVIF, b"avis": AVIF, b"qt  ": MOV, b"M4A ": M4A, b"M4B ": M4A}
# ISO base media that are pictures: the codec may be named among the compatible brands alone.
PICTURES = {b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"}
CODECS = {b"avif": AVIF, b"avis": AVIF, b"heic": HEIC, b"heix": HEIC, b"hevc": HEIC, b"hevx": HEIC}
# The first box of QuickTime films in the format before `ftyp`, which small cameras still write.
QUICKTIME = {b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot"}
RAW = b"crx "  # of Canon's cameras: no decoder is shipped
# A tag of ID3v2 begins with ten bytes, and ends with ten more if it says so. The last four of the ten are its length,
# in groups of seven bits.
TAG = b"ID3"
TAG_HEADER = 10
TAG_HAS_FOOTER = 0x10


def kind_in(file: IO[bytes]) -> Kind | None:
    """Return the kind of a file, which is open at its beginning. None if it is not accepted.

    Programs write ID3 tags before sound of every format, not only before MP3.
    """
    head = file.read(HEAD)
    if not head.startswith(TAG) or len(head) < TAG_HEADER:
        return kind_of(head)
    length = sum((byte & 0x7F) << shift for byte, shift in zip(head[6:TAG_HEADER], (21, 14, 7, 0), strict=True))
    footer = TAG_HEADER if head[5] & TAG_HAS_FOOTER else 0
    file.seek(TAG_HEADER + length + footer, io.SEEK_SET)
    tagged = kind_of(file.read(HEAD))
    return tagged if tagged in SOUNDS else MP3


def kind_of(head: bytes) -> Kind | None:
    """Return the kind of a file that begins with these bytes. None if it is not accepted."""
    for beginning, kind in BEGINNINGS:
        if head.startswith(beginning):
            return kind
    if head[:4] in (b"RIFF", b"RF64"):  # RF64: for files that may exceed 4 GB
        return RIFF.get(head[8:12])
    if head[4:8] == b"ftyp":
        return _of_brand(head)
    return MOV if head[4:8] in QUICKTIME else _of_audio_frame(head)


def _of_brand(head: bytes) -> Kind | None:
    brand = head[8:12]
    if brand == RAW:
        return None
    if brand in PICTURES:
        compatible = (head[at : at + 4] for at in range(16, min(int.from_bytes(head[:4]), len(head)), 4))
        return next((CODECS[name] for name in (brand, *compatible) if name in CODECS), None)
    return BRANDS.get(brand, MP4)


def _of_audio_frame(head: bytes) -> Kind | None:
    """True for MPEG audio without a header: eleven bits that are set, then a layer and a rate that exist."""
    if len(head) < 3 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    if head[1] & 0xF6 == 0xF0:
        return AAC
    layer, rate = head[1] & 0x06, head[2] >> 4
    return MP3 if layer in (0x02, 0x04) and 0 < rate < 15 else None
