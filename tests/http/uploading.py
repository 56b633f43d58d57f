"""Files to upload, made by the tests themselves, and the way to send them."""

import subprocess
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyvips
import trio
import trio.testing
from PIL import Image
from quart.datastructures import FileStorage

from ..clients import Client, Person, Reply, Stage


def picture(width: int = 64, height: int = 40, kind: str = "png", **how: Any) -> bytes:
    """An image with something to see, in red at its upper left corner."""
    image = pyvips.Image.gaussnoise(width, height, seed=7).cast("uchar").bandjoin([100, 50])
    image = image.copy(interpretation="srgb").draw_rect([255, 0, 0], 0, 0, width // 2, height // 2, fill=True)
    return image.write_to_buffer(f".{kind}", **how)


def animation(width: int = 16, height: int = 16, frames: int = 3, kind: str = "gif") -> bytes:
    """Frames that differ."""
    each = [pyvips.Image.black(width, height).bandjoin([n * 40, 0]) + n for n in range(frames)]
    image = pyvips.Image.arrayjoin([one.cast("uchar") for one in each], across=1).copy(interpretation="srgb")
    image.set_type(pyvips.GValue.gint_type, "page-height", height)
    return image.write_to_buffer(f".{kind}")


def moving_png(width: int = 24, height: int = 16, frames: int = 3, milliseconds: int = 500) -> bytes:
    """Frames that differ, with a part that can be looked through."""
    each = [Image.new("RGBA", (width, height), (n * 40 % 256, 10, 200, 128)) for n in range(frames)]
    written = BytesIO()
    each[0].save(written, "PNG", save_all=True, append_images=each[1:], duration=milliseconds)
    return written.getvalue()


def photo_of_a_place() -> bytes:
    """A photo as a phone takes it: lying on its side, with where it was taken and by what."""
    image = pyvips.Image.new_from_buffer(picture(60, 40, "jpg"), "").copy()
    for name, value in (
        ("exif-ifd0-Make", "Secret camera"),
        ("exif-ifd3-GPSLatitude", "52/1 31/1 12/1"),
        ("exif-ifd3-GPSLatitudeRef", "N"),
    ):
        image.set_type(pyvips.GValue.gstr_type, name, value)
    image.set_type(pyvips.GValue.gint_type, "orientation", 6)
    return image.jpegsave_buffer()


@cache
def film(*, sound: bool, pictures: bool = True) -> bytes:
    """A second of an MP4, or, without pictures, of Ogg."""
    inputs = [("-f", "lavfi", "-i", "testsrc=d=1:s=64x48:r=10")] * pictures
    inputs += [("-f", "lavfi", "-i", "sine=d=1")] * sound
    with TemporaryDirectory() as folder:
        file = Path(folder) / ("film.mp4" if pictures else "sound.ogg")
        command = ["ffmpeg", "-v", "error", *(word for one in inputs for word in one), "-metadata", "title=secret"]
        subprocess.run([*command, str(file)], check=True)
        return file.read_bytes()


class WholeFile(BytesIO):
    """A file that is read in one piece. Quart's client joins small pieces, which takes seconds for a large file."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read()


def part(data: bytes, name: str = "a.png") -> FileStorage:
    """A file in a form."""
    return FileStorage(WholeFile(data), filename=name, content_type="image/png")


async def upload(
    client: Client, data: bytes, name: str = "a.png", *, path: str = "/api/v2/media", thumbnail: bytes | None = None,
    **form: str,
) -> Reply:  # fmt: skip
    """Send a file as a form does."""
    files = {"file": part(data, name)}
    if thumbnail is not None:
        files["thumbnail"] = part(thumbnail)
    return await client.post(path, files=files, form=form)


async def uploaded(client: Client, data: bytes | None = None, **how: Any) -> Any:
    """The attachment that came of a file."""
    reply = await upload(client, picture() if data is None else data, **how)
    assert reply.status == 200, reply.text
    return reply.json


async def film_of(person: Person, data: bytes, name: str = "a.mp4") -> Any:
    """The attachment of a film or of sound when it is processed."""
    reply = await person.post("/api/v2/media", files={"file": part(data, name)})
    with trio.fail_after(60):
        while reply.status in (202, 206):
            await trio.testing.wait_all_tasks_blocked(0.01)
            reply = await person.get(f"/api/v1/media/{reply.json['id']}")
    assert reply.status == 200, reply.text
    return reply.json


async def attach(person: Person, *media: Any, text: str = "look") -> Any:
    """The status that has these attachments."""
    reply = await try_to_attach(person, *(medium["id"] for medium in media), text=text)
    assert reply.status == 200, reply.text
    return reply.json


async def try_to_attach(person: Person, *ids: str, text: str = "look") -> Reply:
    return await person.post("/api/v1/statuses", json={"status": text, "media_ids": list(ids)})


async def fetched(client: Client, url: str, **headers: str) -> Reply:
    """A served file, by the address in an answer."""
    return await client.get("/" + url.split("/", 3)[3], headers=headers)


def store_file(stage: Stage, name: str, content: bytes) -> None:
    """Have a file served, as if it had been made of an upload."""
    with TemporaryDirectory() as folder:
        made = Path(folder) / name
        made.write_bytes(content)
        stage.http_context.media.folder.store.put(name, made)


async def files_removed(stage: Stage) -> None:
    """Wait until no promise to remove files is left."""
    await stage.until_gone("SELECT id FROM outbox WHERE kind = 'files'")
