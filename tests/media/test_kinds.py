"""What a file is, by its first bytes alone."""

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
