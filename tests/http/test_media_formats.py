"""Media as phones, cameras, editors and encoders make them: times, shapes of pixels, moving pictures, covers."""

import json
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import pyvips
import trio
import trio.testing

from ..clients import BASE, Person, Reply, Stage
from .browsing import page
from .uploading import fetched, film_of, moving_png, part, picture, uploaded

FILES = Path(__file__).parent.parent / "media" / "files"
TEST_PICTURE = ("-f", "lavfi", "-i", "testsrc=d=1:s=64x48:r=4")
TONE = ("-f", "lavfi", "-i", "sine=d=1")


def made_by_ffmpeg(name: str, *arguments: str, cover: bytes | None = None) -> bytes:
    """A file that ffmpeg makes. `cover.jpg` among the arguments is the cover."""
    with TemporaryDirectory() as folder:
        if cover is not None:
            (Path(folder) / "cover.jpg").write_bytes(cover)
        subprocess.run(["ffmpeg", "-v", "error", *arguments, name], check=True, cwd=folder)
        return (Path(folder) / name).read_bytes()


def gif(delays: list[int], width: int = 64, height: int = 48) -> bytes:
    """Frames that differ, with so many milliseconds each."""
    black = pyvips.Image.black(width, height, bands=3)
    frames = [black.linear([1.0] * 3, [n * 60 % 256, 40, 90]).cast("uchar") for n in range(len(delays))]
    image = pyvips.Image.arrayjoin(frames, across=1).copy(interpretation="srgb")
    image.set_type(pyvips.GValue.gint_type, "page-height", height)
    image.set_type(pyvips.GValue.array_int_type, "delay", delays)
    return image.write_to_buffer(".gif")


def packets(film: bytes) -> list[tuple[float, float]]:
    """When each picture of a film is shown, and for how long."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "film.mp4"
        file.write_bytes(film)
        command = ["ffprobe", "-v", "error", "-print_format", "json", "-show_packets", str(file)]
        shown = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["packets"]
    return sorted((float(one["pts_time"]), float(one["duration_time"])) for one in shown)


async def body_of(person: Person, url: str) -> bytes:
    reply: Reply = await fetched(person, url)
    assert reply.status == 200
    return reply.body


@pytest.mark.parametrize(
    "delays", [[500, 500], [100, 5000], [20] * 10, [100, 1000, 30, 700], [10, 10]], ids=lambda delays: str(len(delays))
)
async def test_each_frame_of_a_gif_is_shown_as_long_as_it_says(ada: Person, delays: list[int]) -> None:
    """Also the last one, which was a flash: a GIF of half seconds began anew after half of its time."""
    shown = await uploaded(ada, gif(delays), name="a.gif")
    seconds = [0.1 if delay < 20 else delay / 1000 for delay in delays]  # as browsers show what is too fast
    assert shown["meta"]["duration"] == pytest.approx(sum(seconds))
    found = packets(await body_of(ada, shown["url"]))
    assert [duration for _, duration in found] == pytest.approx(seconds)
    assert [at for at, _ in found] == pytest.approx([sum(seconds[:n]) for n in range(len(seconds))])


@pytest.mark.parametrize(("width", "height"), [(1, 7), (7, 1), (1, 1), (63, 47)])
async def test_sides_of_one_and_of_odd_pixels_are_taken(ada: Person, width: int, height: int) -> None:
    moving = await uploaded(ada, gif([100, 100], width, height), name="a.gif")
    assert moving["type"] == "gifv"
    still = await uploaded(ada, picture(width, height))
    assert still["meta"]["original"]["size"] == f"{width}x{height}"


@pytest.mark.parametrize(("shape", "size"), [("4/3", "86x48"), ("1/1", "64x48"), ("1/2", "32x48")])
async def test_a_film_is_as_wide_as_its_pixels_are(ada: Person, shape: str, size: str) -> None:
    film = await film_of(ada, made_by_ffmpeg("a.mp4", *TEST_PICTURE, "-vf", f"setsar={shape}"))
    assert film["meta"]["size"] == film["meta"]["small"]["size"] == size
    assert film["meta"]["original"]["width"] == int(size.partition("x")[0])
    small = pyvips.Image.new_from_buffer(await body_of(ada, film["preview_url"]), "")
    assert f"{small.width}x{small.height}" == size


async def test_pixels_that_would_make_a_film_too_wide_are_refused(ada: Person) -> None:
    wide = made_by_ffmpeg("a.mp4", "-f", "lavfi", "-i", "testsrc=d=1:s=1280x720:r=2", "-vf", "setsar=250/1")
    accepted = await ada.post("/api/v2/media", files={"file": part(wide, "a.mp4")})
    with trio.fail_after(60):
        while (reply := await ada.get(f"/api/v1/media/{accepted.json['id']}")).status == 206:
            await trio.testing.wait_all_tasks_blocked(0.01)
    assert reply.status == 422


COVERS = [("a.mp3", ("-c:v", "copy")), ("a.flac", ("-c:v", "mjpeg")), ("a.m4a", ("-c:v", "mjpeg"))]


@pytest.mark.parametrize(("name", "codec"), COVERS)
async def test_the_cover_of_sound_is_its_preview(ada: Person, name: str, codec: tuple[str, ...]) -> None:
    sound = await covered_sound(ada, name, codec)
    assert (sound["type"], sound["meta"]["small"]["size"]) == ("audio", "60x40")
    cover = pyvips.Image.new_from_buffer(await body_of(ada, sound["preview_url"]), "")
    red, green, blue = cover.getpoint(3, 3)
    assert red > 200
    assert green < 60
    assert blue < 60
    assert len(sound["blurhash"]) == 36


async def test_a_page_shows_the_cover_above_the_sound(stage: Stage, ada: Person) -> None:
    covered, bare = await covered_sound(ada, *COVERS[0]), await film_of(ada, made_by_ffmpeg("a.mp3", *TONE), "a.mp3")
    for sound, addresses in ((covered, ["preview_url", "url"]), (bare, ["url"])):
        status = await ada.write("listen", media_ids=[sound["id"]])
        shown = await page(stage, f"/@ada/{status['id']}")
        media = [one["src"] for one in (*shown.all("img", **{"class": "cover"}), *shown.all("audio"))]
        assert media == [sound[name].removeprefix(BASE) for name in addresses]


async def covered_sound(person: Person, name: str, codec: tuple[str, ...]) -> Any:
    """The attachment of sound with a cover."""
    mapped = ("-i", "cover.jpg", "-map", "0", "-map", "1", *codec, "-disposition:v", "attached_pic")
    return await film_of(person, made_by_ffmpeg(name, *TONE, *mapped, cover=picture(60, 40, "jpg")), name)


async def test_sound_with_a_broken_cover_has_none(ada: Person) -> None:
    cover = picture(60, 40, "jpg")
    mapped = ("-i", "cover.jpg", "-map", "0", "-map", "1", "-c:v", "copy", "-disposition:v", "attached_pic")
    whole = made_by_ffmpeg("a.mp3", *TONE, *mapped, cover=cover)
    broken = whole.replace(cover[20:], b"\0" * len(cover[20:]))
    assert broken != whole
    sound = await film_of(ada, broken, "a.mp3")
    assert (sound["type"], sound["preview_url"]) == ("audio", None)


async def test_a_photo_of_a_phone_is_a_jpeg_here(ada: Person) -> None:
    photo = await uploaded(ada, (FILES / "photo.heic").read_bytes(), name="IMG_0001.HEIC")
    assert (photo["type"], photo["meta"]["original"]["size"]) == ("image", "64x40")
    shown = await fetched(ada, photo["url"])
    assert shown.headers["Content-Type"] == "image/jpeg"
    red, green, blue = pyvips.Image.new_from_buffer(shown.body, "").getpoint(5, 5)
    assert red > 230
    assert green < 30
    assert blue < 30


@pytest.mark.parametrize(
    "mime",
    [
        *("image/heic", "image/heif", "video/x-m4v", "audio/mp3", "audio/opus", "audio/wave", "audio/x-wav"),
        *("audio/vnd.wave", "audio/x-flac", "audio/x-aac", "audio/m4a", "audio/x-m4a", "audio/webm"),
        *("video/3gpp", "audio/3gpp", "video/ogg", "video/x-matroska"),
    ],
)
async def test_apps_offer_a_file_by_the_name_that_their_device_has_for_its_type(ada: Person, mime: str) -> None:
    for version in ("v1", "v2"):
        told = (await ada.get(f"/api/{version}/instance")).json["configuration"]["media_attachments"]
        assert mime in told["supported_mime_types"]


@pytest.mark.parametrize("which", ["png", "avif"])
async def test_moving_pictures_that_are_no_gifs_move(ada: Person, which: str) -> None:
    data = moving_png() if which == "png" else (FILES / "sequence.avif").read_bytes()
    shown = await uploaded(ada, data, name=f"a.{which}")
    assert shown["type"] == "image"
    frames = pyvips.Image.webpload_buffer(await body_of(ada, shown["url"]), n=-1)
    assert frames.get_n_pages() == {"png": 3, "avif": 4}[which]
    assert frames.get("delay") == [500] * frames.get_n_pages()
    assert which != "png" or frames.getpoint(3, 3)[3] == 128, "and may be looked through"


async def test_a_moving_png_that_is_too_large_stands_still(ada: Person) -> None:
    shown = await uploaded(ada, moving_png(1280, 960), name="a.png")
    assert (await fetched(ada, shown["url"])).headers["Content-Type"] == "image/png"
    assert shown["meta"]["original"]["size"] == "1280x960"


async def test_a_moving_png_whose_animation_is_broken_stands_still(ada: Person) -> None:
    whole = moving_png()
    second = whole.index(b"fdAT")
    shown = await uploaded(ada, whole[:second] + b"fdAX" + whole[second + 4 :], name="a.png")
    assert shown["meta"]["original"]["size"] == "24x16"


@pytest.mark.parametrize("which", ["png", "avif", "heic"])
async def test_a_picture_of_any_kind_may_be_an_avatar(ada: Person, which: str) -> None:
    files = {"avif": "sequence.avif", "heic": "photo.heic"}
    data = moving_png() if which == "png" else (FILES / files[which]).read_bytes()
    avatar = {"avatar": part(data, f"a.{which}")}
    reply = await ada.send("PATCH", "/api/v1/accounts/update_credentials", files=avatar)
    assert reply.status == 200, reply.text
    shown = pyvips.Image.new_from_buffer(await body_of(ada, reply.json["avatar"]), "")
    assert (shown.width, shown.height) == (400, 400)


async def test_an_avatar_and_a_header_may_have_8_mb_each(stage: Stage, ada: Person) -> None:
    large = picture(1200, 1000, "jpg", Q=90)
    large += b"\0" * (8 * 1024 * 1024 - len(large))
    path = "/api/v1/accounts/update_credentials"
    reply = await ada.send("PATCH", path, files={"avatar": part(large, "a.jpg"), "header": part(large, "b.jpg")})
    assert reply.status == 200, reply.text
    refused = await ada.send("PATCH", path, files={"avatar": part(large + b"\0", "a.jpg")})
    assert refused.json == {"error": "Validation failed: Avatar must be less than 8 MB"}


def hdr(transfer: str, colour: str) -> bytes:
    """A film of one colour with the high dynamic range that phones film in."""
    space = f"log-level=error:colorprim=bt2020:transfer={transfer}:colormatrix=bt2020nc"
    source = ("-f", "lavfi", "-i", f"color=c={colour}:d=1:s=64x48:r=4")
    return made_by_ffmpeg("a.mp4", *source, "-c:v", "libx265", "-pix_fmt", "yuv420p10le", "-x265-params", space)


@pytest.mark.parametrize(("transfer", "white"), [("smpte2084", "0x949494"), ("arib-std-b67", "0xbfbfbf")])
async def test_a_film_with_high_dynamic_range_is_not_pale(ada: Person, transfer: str, white: str) -> None:
    """White of 203 candelas stays bright, and red stays red: read as usual numbers it is (160, 48, 48)."""
    bright = await film_of(ada, hdr(transfer, white))
    assert await middle_of(ada, bright) == pytest.approx([192] * 3, abs=8)
    red, green, blue = await middle_of(ada, await film_of(ada, hdr("smpte2084", "0xa03030")))
    assert red > 200
    assert max(green, blue) < 20


async def middle_of(person: Person, film: Any) -> list[float]:
    """The colour in the middle of the still of a film."""
    still = pyvips.Image.new_from_buffer(await body_of(person, film["preview_url"]), "")
    return still.getpoint(still.width // 2, still.height // 2)


@pytest.mark.parametrize("turned", [90, 180, 270])
async def test_a_film_that_was_made_with_a_turned_phone_stands_upright(ada: Person, turned: int) -> None:
    size = "64x48" if turned == 180 else "48x64"
    film = await film_of(ada, turned_film(turned))
    assert film["meta"]["size"] == film["meta"]["small"]["size"] == size


def turned_film(degrees: int) -> bytes:
    """A film whose file says how it is turned. FFmpeg says so only of pictures that it copies."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "a.mp4").write_bytes(made_by_ffmpeg("a.mp4", *TEST_PICTURE, "-pix_fmt", "yuv420p"))
        turn = ["-i", "a.mp4", "-c", "copy", "-metadata:s:v", f"rotate={degrees}", "b.mp4"]
        subprocess.run(["ffmpeg", "-v", "error", *turn], check=True, cwd=folder)
        return (Path(folder) / "b.mp4").read_bytes()


async def test_a_film_from_before_ftyp_is_taken(ada: Person) -> None:
    film = made_by_ffmpeg("a.mov", *TEST_PICTURE, "-pix_fmt", "yuv420p")
    assert film[4:8] == b"ftyp"
    shown = await film_of(ada, film[:4] + b"free" + film[8:], "MVI_0001.MOV")
    assert (shown["type"], shown["meta"]["size"]) == ("gifv", "64x48")


async def test_sound_that_nothing_can_decode_is_left_out(ada: Person) -> None:
    """Phones add a track of their own format to the one that all programs play."""
    tracks = ("-map", "0", "-map", "1", "-map", "2", "-c:a", "aac", "-pix_fmt", "yuv420p", "-shortest")
    film = made_by_ffmpeg("a.mov", *TEST_PICTURE, *TONE, *TONE, *tracks)
    track = film.index(b"mp4a", film.index(b"moov"))
    unknown = film[:track] + film[track:].replace(b"mp4a", b"apac", 1).replace(b"esds", b"free", 1)
    shown = await film_of(ada, unknown)
    assert (shown["type"], shown["meta"]["audio_encode"]) == ("video", "aac")


@pytest.mark.parametrize("name", ["a.flac", "a.aac", "a.wav", "a.mp3"])
async def test_sound_of_any_format_may_begin_with_a_tag(ada: Person, name: str) -> None:
    """Programs that write tags put those of MP3 before other sound too."""
    tag = b"ID3\x04\0\0\0\0\x02\x0a" + bytes(266)
    sound = await film_of(ada, tag + made_by_ffmpeg(name, *TONE, "-id3v2_version", "0"), name)
    assert (sound["type"], sound["meta"]["audio_encode"]) == ("audio", "mp3")
    assert sound["meta"]["duration"] == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(
    ("cut", "status"), [(0, 200), (2, 200), (3000, 422)], ids=["whole", "without its end", "without a part"]
)
async def test_a_jpeg_may_lack_the_mark_of_its_end(ada: Person, cut: int, status: int) -> None:
    photo = picture(400, 300, "jpg")
    reply = await ada.post("/api/v2/media", files={"file": part(photo[: len(photo) - cut], "a.jpg")})
    assert reply.status == status
    if status == 200:
        assert reply.json["meta"]["original"]["size"] == "400x300"


SPACES = [("jpg", "cmyk"), ("jpg", "p3"), ("png", "p3"), ("jpg", "b-w"), ("png", "rgb16"), ("png", "grey16")]


@pytest.mark.parametrize(("kind", "space"), SPACES)
async def test_pictures_in_any_space_of_colours_become_srgb(ada: Person, kind: str, space: str) -> None:
    image = pyvips.Image.new_from_buffer(picture(kind="png"), "")
    image = image.icc_transform(space, input_profile="srgb") if space in ("cmyk", "p3") else image.colourspace(space)
    shown = await uploaded(ada, image.write_to_buffer(f".{kind}"))
    made = pyvips.Image.new_from_buffer(await body_of(ada, shown["url"]), "")
    assert (made.interpretation, made.format, made.get_typeof("icc-profile-data")) == ("srgb", "uchar", 0)
    red, green, blue = made.getpoint(8, 8)[:3]
    if space in ("b-w", "grey16"):
        assert 50 < red == green == blue < 150
    else:
        assert red > 225  # what is printed is less bright
        assert max(green, blue) < 60
