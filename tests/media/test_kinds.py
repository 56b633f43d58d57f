"""What a file is, by its first bytes alone."""

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troupe.actors.media.kinds import (
    AAC,
    AVIF,
    FLAC,
    GIF,
    HEAD,
    HEIC,
    JPEG,
    M4A,
    MOV,
    MP3,
    MP4,
    OGG,
    PNG,
    WAV,
    WEBM,
    WEBP,
    Kind,
    kind_in,
    kind_of,
)  # fmt: skip

BEGINNINGS = [
    (b"\xff\xd8\xff\xe0\x00\x10JFIF", JPEG),
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", PNG),
    (b"GIF87a", GIF),
    (b"GIF89a", GIF),
    (b"RIFF\x10\0\0\0WEBPVP8 ", WEBP),
    (b"\0\0\0\x1cftypavif\0\0\0\0mif1", AVIF),
    (b"\0\0\0\x1cftypmif1\0\0\0\0mif1avif", AVIF),
    (b"\0\0\0\x1cftypavis\0\0\0\0avifavis", AVIF),
    (b"\0\0\0\x1cftypheic\0\0\0\0mif1heic", HEIC),
    (b"\0\0\0\x1cftypmif1\0\0\0\0mif1heic", HEIC),
    (b"\0\0\0\x1cftypmsf1\0\0\0\0msf1hevc", HEIC),
    (b"\0\0\0\x18ftypmp42\0\0\0\0isom", MP4),
    (b"\0\0\0\x14ftypqt  \0\0\0\0qt  ", MOV),
    (b"\0\0\0\x08wide\0\0\x10\0mdat", MOV),
    (b"\0\0\x10\0moov\0\0\0\x6cmvhd", MOV),
    (b"\0\0\0\x1cftypM4A \0\0\0\0", M4A),
    (b"\x1a\x45\xdf\xa3\x01\0\0\0", WEBM),
    (b"ID3\x04\0\0", MP3),
    (b"\xff\xfb\x90\x64", MP3),
    (b"OggS\0\x02", OGG),
    (b"RIFF\x10\0\0\0WAVEfmt ", WAV),
    (b"RF64\xff\xff\xff\xffWAVEds64", WAV),
    (b"fLaC\0\0\0\x22", FLAC),
    (b"\xff\xf1\x50\x80", AAC),
]

NONE = [
    b"",
    b"<svg xmlns",
    b"<html>",
    b"%PDF-1.7",
    b"PK\x03\x04",
    b"RIFF\x10\0\0\0AVI LIST",
    b"\0\0\0\x18ftypcrx \0\0\0\0crx isom",
    b"\0\0\0\x18ftypmif1\0\0\0\0mif1miafheic",
    b"II*\0",
    b"#EXTM3U",
    b"\xff\xff\xff\xff",
    b"GIF88a",
]


@pytest.mark.parametrize(("head", "kind"), BEGINNINGS)
def test_a_beginning_says_what_a_file_is(head: bytes, kind: Kind) -> None:
    assert kind_of(head.ljust(HEAD, b"\0")) is kind


@pytest.mark.parametrize("head", NONE)
def test_everything_else_is_nothing_that_is_taken(head: bytes) -> None:
    assert kind_of(head) is None


@given(st.binary(max_size=HEAD))
def test_no_bytes_do_harm(head: bytes) -> None:
    assert kind_of(head) is None or isinstance(kind_of(head), Kind)


def tag(length: int, flags: int = 0, footer: bytes = b"") -> bytes:
    """A tag of ID3v2 whose text is so long."""
    size = bytes(length >> shift & 0x7F for shift in (21, 14, 7, 0))
    return b"ID3\x04\0" + bytes([flags]) + size + bytes(length) + footer


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        (tag(0) + b"fLaC\0\0\0\x22", FLAC),
        (tag(200_000) + b"fLaC\0\0\0\x22", FLAC),  # with a cover
        (tag(300) + b"\xff\xf1\x50\x80", AAC),
        (tag(300) + b"RIFF\x10\0\0\0WAVEfmt ", WAV),
        (tag(300, 0x10, b"3DI" + bytes(7)) + b"OggS\0\x02", OGG),
        (tag(300) + b"\xff\xfb\x90\x64", MP3),
        (tag(300) + bytes(500) + b"\xff\xfb\x90\x64", MP3),  # with room for more tags
        (tag(300) + b"\xff\xd8\xff\xe0", MP3),  # tags stand before sound
        (tag(300)[:50], MP3),
        (b"ID3\x04", MP3),
        (b"ID3\x04\0\0\x7f\x7f\x7f\x7f", MP3),
        (b"fLaC\0\0\0\x22", FLAC),
        (b"", None),
    ],
)
def test_a_tag_does_not_say_what_sound_stands_behind_it(file: bytes, kind: Kind | None) -> None:
    assert kind_in(BytesIO(file)) == kind
