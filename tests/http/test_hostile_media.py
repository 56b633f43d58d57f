"""Files made to do harm: each is refused in words, or becomes a harmless image, and the server goes on."""

import struct
import zlib
from pathlib import Path

import pytest

from ..clients import Person, Stage
from .uploading import animation, fetched, photo_of_a_place, picture, upload, uploaded

WRONG_TYPE = "Validation failed: File content type is invalid, File is invalid"
UNVERIFIED = "File type of uploaded media could not be verified"
BLANK = "Validation failed: File can't be blank"

SVG = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>'
PAGE = b"<html><script>alert(1)</script></html>"
GIF_AND_SCRIPT = b"GIF89a/*\x00\x00\x00\x00*/=1;alert(1);"
PLAYLIST = b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n"


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, *more: bytes) -> bytes:
    """A PNG of any size that is all black; a bomb when the size is large."""
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    rows = zlib.compress(b"\0" * min((width // 8 + 1) * height, 50_000_000), 9)
    chunks = [chunk(b"IHDR", header), *more, chunk(b"IDAT", rows), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def gif(width: int, height: int) -> bytes:
    """One pixel, on a screen of any size."""
    screen = b"GIF89a" + struct.pack("<HH", width, height) + b"\x80\x00\x00\x00\x00\x00\xff\xff\xff"
    return screen + b"\x2c\x00\x00\x00\x00" + struct.pack("<HH", width, height) + b"\x00\x02\x02\x44\x01\x00\x3b"


def webp(width: int, height: int) -> bytes:
    canvas = struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    body = b"WEBPVP8X" + struct.pack("<I", 10) + b"\0\0\0\0" + canvas
    inner = picture(8, 8, "webp")[12:]
    return b"RIFF" + struct.pack("<I", len(body) + len(inner)) + body + inner


def with_segments(jpeg: bytes, *segments: bytes) -> bytes:
    """A JPEG with more of what may stand before the image."""
    more = b"".join(segment[:2] + struct.pack(">H", len(segment)) + segment[2:] for segment in segments)
    return jpeg[:2] + more + jpeg[2:]


def refused() -> dict[str, tuple[bytes, str]]:
    """Files with what is answered to them."""
    return {
        "nothing at all": (b"", BLANK),
        "text as jpg": (b"just text", WRONG_TYPE),
        "svg": (SVG, WRONG_TYPE),
        "a page": (PAGE, WRONG_TYPE),
        "an archive": (b"PK\x03\x04" + b"\0" * 100, WRONG_TYPE),
        "a playlist": (PLAYLIST, WRONG_TYPE),
        "a tiff": (b"II*\0" + b"\0" * 100, WRONG_TYPE),
        "a raw photo": (b"\0\0\0\x18ftypcrx \0\0\0\x01crx isom" + b"\0" * 100, WRONG_TYPE),
        "heic without a photo": (b"\0\0\0\x18ftypheic\0\0\0\0heicmif1" + b"\0" * 100, UNVERIFIED),
        "half a heic": (HEIC[:600], UNVERIFIED),
        "a heic that says it is huge": (
            HEIC.replace(b"ispe" + bytes(6) + b"\0\x40", b"ispe" + bytes(4) + b"\0\xff\xff\xff"),
            "16777215x40 images are not supported",
        ),
        "half a sequence": (SEQUENCE[:700], UNVERIFIED),
        "nothing but a beginning": (b"\x89PNG\r\n\x1a\n", UNVERIFIED),
        "a beginning and noise": (b"\xff\xd8\xff" + bytes(range(256)) * 40, UNVERIFIED),
        "a gif that is a script": (GIF_AND_SCRIPT, UNVERIFIED),
        "half a png": (picture(300, 300)[:20_000], UNVERIFIED),
        "half a webp": (picture(300, 300, "webp")[:2_000], UNVERIFIED),
        "half an avif": (picture(64, 64, "avif")[:300], UNVERIFIED),
        "a png bomb": (png(50_000, 50_000), "50000x50000 images are not supported"),
        "a png without height": (png(100, 0), UNVERIFIED),
        "a small webp on a large canvas": (webp(16_000, 16_000), UNVERIFIED),
        "a gif bomb": (gif(60_000, 60_000), "60000x60000 images are not supported"),
        "an animation that is too large": (
            animation(1000, 1000),
            "1000x1000 animations with 3 frames are not supported",
        ),
    }


HEIC, SEQUENCE = (
    (Path(__file__).parent.parent / "media" / "files" / name).read_bytes() for name in ("photo.heic", "sequence.avif")
)


def harmless() -> dict[str, tuple[bytes, str]]:
    """Files with their names."""
    return {
        "a png under another name": (picture(), "film.mp4"),
        "a page behind an image": (picture(32, 32, "jpg") + PAGE, "a.html"),
        "an archive behind an image": (picture(32, 32) + b"PK\x03\x04" + PAGE, "a.zip"),
        "a page in a comment": (with_segments(picture(32, 32, "jpg"), b"\xff\xfe" + PAGE), "a.jpg"),
        "a profile of noise": (with_segments(picture(32, 32, "jpg"), b"\xff\xe2ICC_PROFILE\0\x01\x01" + PAGE), "a.jpg"),
        "exif of noise": (with_segments(picture(32, 32, "jpg"), b"\xff\xe1Exif\0\0" + b"\xff" * 60_000), "a.jpg"),
        "a hundred comments": (with_segments(picture(32, 32, "jpg"), *[b"\xff\xfe" + PAGE * 1000] * 100), "a.jpg"),
        "text that unpacks to a lot": (
            png(64, 64, chunk(b"zTXt", b"Comment\0\0" + zlib.compress(b"<script>" * 4_000_000))), "a.png",
        ),
        "a photo of a place": (photo_of_a_place(), "a.jpg"),
        "a name that is a path": (picture(), "../../../../etc/cron.d/x"),
    }  # fmt: skip


async def test_what_is_refused_says_why_and_leaves_nothing(stage: Stage, ada: Person) -> None:
    for name, (data, text) in refused().items():
        reply = await upload(ada, data, "a.jpg")
        assert (name, reply.status, reply.json) == (name, 422, {"error": text})
    assert files(stage) == []
    assert stage.failures == []
    assert (await uploaded(ada))["type"] == "image"


async def test_what_is_taken_loses_all_but_its_image(stage: Stage, ada: Person) -> None:
    made = harmless()
    for name, (data, filename) in made.items():
        reply = await upload(ada, data, filename)
        assert (name, reply.status) == (name, 200), reply.text
        shown = await fetched(ada, reply.json["url"])
        assert shown.headers["Content-Type"] in ("image/png", "image/jpeg")
        for trace in (b"<script>", b"Secret camera", b"PK\x03\x04"):
            assert trace not in shown.body, name
    assert len(files(stage)) == 2 * len(made)
    assert stage.failures == []


async def test_an_image_may_weigh_sixteen_mebibytes(ada: Person) -> None:
    reply = await upload(ada, picture() + b"\0" * 16 * 1024 * 1024)
    assert (reply.status, reply.json) == (422, {"error": "Validation failed: File must be less than 16 MB"})


async def test_a_form_without_a_file(ada: Person) -> None:
    for form in ({}, {"file": ""}):
        reply = await ada.post("/api/v2/media", form)
        assert (reply.status, reply.json) == (422, {"error": BLANK})
    assert (await ada.post("/api/v2/media", {"file": "a text"})).status == 422


@pytest.mark.parametrize("focus", ["", "x", "1", "1,2,3", "nan,0", "inf,-inf", "1e400,0", ",", "0.1,0.2\r\n"])
async def test_a_focus_that_is_none_says_nothing(ada: Person, focus: str) -> None:
    medium = await uploaded(ada, focus=focus)
    point = medium["meta"].get("focus")
    assert point is None or all(-1 <= part <= 1 for part in point.values())


async def test_sound_and_film_that_are_none_fail_and_leave_nothing(stage: Stage, ada: Person) -> None:
    listed = b"\0\0\0\x18ftypisom\0\0\0\0isommp41" + PLAYLIST
    for data in (listed, b"OggS" + PLAYLIST, b"RIFF\0\0\0\0WAVE" + PLAYLIST, b"ID3" + PLAYLIST):
        reply = await upload(ada, data, "a.mp4", path="/api/v1/media")
        assert (reply.status, reply.json) == (422, {"error": "Error processing thumbnail for uploaded media"})
    assert files(stage) == []


def files(stage: Stage) -> list[Path]:
    return [path for path in stage.http_context.media.folder.root.rglob("*") if path.is_file()]
