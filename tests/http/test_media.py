"""Media: made, shown, described, attached and deleted."""

import os
from pathlib import Path
from typing import Any

import pytest
import pyvips
import trio
import trio.testing

from troupe.actors.media import process, processor
from troupe.storage.files import COMMANDS, Folder

from ..clients import Person, Stage
from ..emojis import add_emoji
from .uploading import (
    animation,
    attach,
    fetched,
    files_removed,
    film,
    part,
    photo_of_a_place,
    picture,
    try_to_attach,
    upload,
    uploaded,
)

FAILED = {"error": "Error processing thumbnail for uploaded media"}
WRONG_TYPE = {"error": "Validation failed: File content type is invalid, File is invalid"}


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> trio.Event:
    """Media processes begin only when this is set."""
    go_on, run = trio.Event(), process.run

    async def wait_and_run(job: Any) -> int:
        await go_on.wait()
        return await run(job)

    monkeypatch.setattr(process, "run", wait_and_run)
    return go_on


async def finished(person: Person, id: str) -> Any:
    """An attachment when it is no longer processed."""
    with trio.fail_after(60):
        while (reply := await person.get(f"/api/v1/media/{id}")).status == 206:
            await trio.testing.wait_all_tasks_blocked(0.01)
    return reply


def left(stage: Stage) -> list[Path]:
    """Return the paths of all files in the media folder, and of those in the store as if they were there."""
    folder = stage.http_context.media.folder
    lying = {path for path in folder.root.rglob("*") if path.is_file()}
    return sorted(lying | {folder.root / file.name[:2] / file.name for file in folder.store.files()})


def commands_folder(stage: Stage) -> Folder:
    """Return the folder as commands use it."""
    folder = stage.http_context.media.folder
    return Folder(folder.root, COMMANDS, folder.store)


async def test_an_image_is_ready_at_once(ada: Person) -> None:
    medium = await uploaded(ada, picture(1280, 640, "jpg"), description=" noise ", focus="2,-9")
    assert medium == medium | {
        "type": "image", "description": "noise", "remote_url": None, "preview_remote_url": None, "text_url": None,
        "meta": {
            "original": {"width": 1280, "height": 640, "size": "1280x640", "aspect": 2.0},
            "small": {"width": 678, "height": 339, "size": "678x339", "aspect": 2.0},
            "focus": {"x": 1.0, "y": -1.0},
        },
    }  # fmt: skip
    assert len(medium["blurhash"]) == 36
    shown, small = await fetched(ada, medium["url"]), await fetched(ada, medium["preview_url"])
    assert (shown.headers["Content-Type"], small.headers["Content-Type"]) == ("image/jpeg", "image/webp")
    assert pyvips.Image.new_from_buffer(small.body, "").width == 678


async def test_a_photo_stands_upright_and_does_not_say_where_it_was_taken(ada: Person) -> None:
    photo = photo_of_a_place()
    assert b"Secret camera" in photo
    medium = await uploaded(ada, photo, name="IMG_1234.jpg")
    assert medium["meta"]["original"]["size"] == "40x60"
    shown = (await fetched(ada, medium["url"])).body
    fields = pyvips.Image.new_from_buffer(shown, "").get_fields()
    assert not [name for name in fields if name.startswith(("exif", "xmp", "iptc", "icc", "orientation"))]
    assert b"Exif" not in shown
    assert "IMG_1234" not in medium["url"]


async def test_a_large_image_is_scaled_down(ada: Person) -> None:
    medium = await uploaded(ada, pyvips.Image.black(6000, 3000).write_to_buffer(".png"))
    assert medium["meta"]["original"]["width"] * medium["meta"]["original"]["height"] <= 8_294_400
    assert medium["meta"]["original"]["aspect"] == pytest.approx(2, rel=0.001)


async def test_an_image_may_be_longer_than_its_small_picture_can_be(ada: Person) -> None:
    meta = (await uploaded(ada, picture(2, 20_000)))["meta"]
    assert meta["small"]["height"] == meta["original"]["height"] == 16_383


async def test_its_owner_may_choose_the_small_picture(stage: Stage, ada: Person) -> None:
    medium = await uploaded(ada, picture(80, 80), thumbnail=picture(30, 10))
    assert medium["meta"]["small"]["size"] == "30x10"
    assert len(left(stage)) == 2
    files = {"thumbnail": part(picture(10, 30))}
    changed = await ada.send("PUT", f"/api/v1/media/{medium['id']}", files=files)
    assert changed.json["meta"]["small"]["size"] == "10x30"
    assert changed.json["meta"]["original"]["size"] == "80x80"
    assert changed.json["url"] == medium["url"]
    await files_removed(stage)
    assert (await fetched(ada, medium["preview_url"])).status == 404
    assert (await fetched(ada, changed.json["preview_url"])).status == 200


async def test_a_description_that_is_too_long_is_refused_and_not_cut(ada: Person) -> None:
    refused = await upload(ada, picture(), description="x" * 1501)
    assert refused.status == 422
    assert refused.json == {"error": "Validation failed: Description is too long (maximum is 1500 characters)"}
    assert len((await uploaded(ada, description="🧑🏽‍🚀" * 1500))["description"]) > 1500


async def test_text_may_be_empty_where_there_are_media(ada: Person) -> None:
    medium = await uploaded(ada)
    assert (await attach(ada, medium, text=""))["content"] == ""


async def test_what_cannot_be_attached_is_named(ada: Person, bob: Person) -> None:
    used, theirs, own = await uploaded(ada), await uploaded(bob), await uploaded(ada)
    await attach(ada, used)
    bad = [used["id"], theirs["id"], "404"]
    refused = await try_to_attach(ada, own["id"], *bad)
    assert (refused.status, refused.json) == (
        422, {"error": f"Media {', '.join(bad)} not found or already attached to another post"},
    )  # fmt: skip
    refused = await try_to_attach(ada, "1", "2", "3", "4", "5")
    assert (refused.status, refused.json) == (422, {"error": "Cannot attach more than 4 files"})
    assert (await ada.get(f"/api/v1/media/{own['id']}")).status == 200


async def test_of_two_statuses_that_want_the_same_one_gets_it(ada: Person) -> None:
    medium, replies = await uploaded(ada), list[int]()

    async def post() -> None:
        replies.append((await try_to_attach(ada, medium["id"])).status)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(post)
        nursery.start_soon(post)
    assert sorted(replies) == [200, 422]


async def test_a_key_that_was_used_gives_the_same_status_with_its_media(ada: Person) -> None:
    medium = await uploaded(ada)
    sent = {"json": {"status": "x", "media_ids": [medium["id"]]}, "headers": {"Idempotency-Key": "k"}}
    first, again = await ada.post("/api/v1/statuses", **sent), await ada.post("/api/v1/statuses", **sent)
    assert first.json == again.json


async def test_deleting_media(stage: Stage, ada: Person) -> None:
    loose, used = await uploaded(ada), await uploaded(ada)
    await attach(ada, used)
    refused = await ada.delete(f"/api/v1/media/{used['id']}")
    assert (refused.status, refused.json) == (422, {"error": "Media attachment is currently used by a status"})
    deleted = await ada.delete(f"/api/v1/media/{loose['id']}")
    assert (deleted.status, deleted.json) == (200, {})
    assert (await ada.delete(f"/api/v1/media/{loose['id']}")).status == 404
    await files_removed(stage)
    assert len(left(stage)) == 2


async def test_an_edit_may_leave_media_out_and_describe_them(ada: Person) -> None:
    kept, dropped = await uploaded(ada), await uploaded(ada)
    status = await attach(ada, kept, dropped)
    edit = {"status": "new", "media_ids": [kept["id"]], "media_attributes": [{"id": kept["id"], "description": "so"}]}
    edited = await ada.send("PUT", f"/api/v1/statuses/{status['id']}", json=edit)
    assert edited.json["media_attachments"] == [kept | {"description": "so"}]
    assert (await ada.get(f"/api/v1/media/{dropped['id']}")).status == 200
    history = (await ada.get(f"/api/v1/statuses/{status['id']}/history")).json
    assert [len(one["media_attachments"]) for one in history] == [2, 1]


# Films ------------------------------------------------------------------------------------------------------------


async def test_a_film_is_processed_while_its_owner_goes_on(ada: Person, held: trio.Event) -> None:
    accepted = await upload(ada, film(sound=True), "film.mp4", description="first")
    id = accepted.json["id"]
    path = f"/api/v1/media/{id}"
    assert (accepted.status, accepted.json["url"], accepted.json["type"]) == (202, None, "video")
    assert (await ada.get(path)).status == 206
    changed = await ada.send("PUT", path, form={"description": "second", "focus": "0,1"})
    assert (changed.status, changed.json["description"]) == (206, "second")
    refused = await try_to_attach(ada, id)
    assert refused.json == {"error": "Cannot attach files that have not finished processing. Try again in a moment!"}
    held.set()
    ready = await finished(ada, id)
    assert ready.status == 200
    assert ready.json == ready.json | {"type": "video", "description": "second"}
    meta = ready.json["meta"]
    assert (meta["size"], meta["fps"], meta["focus"]) == ("64x48", 10, {"x": 0.0, "y": 1.0})
    assert meta["original"]["frame_rate"] == "10/1"
    assert (await fetched(ada, ready.json["url"])).headers["Content-Type"] == "video/mp4"
    assert (await fetched(ada, ready.json["preview_url"])).headers["Content-Type"] == "image/webp"
    beside = await try_to_attach(ada, id, (await uploaded(ada))["id"])
    assert beside.json == {"error": "Cannot attach a video to a post that already contains images"}
    assert (await attach(ada, ready.json))["media_attachments"] == [ready.json]


async def test_a_silent_film_and_a_moving_gif_are_gifv(stage: Stage, ada: Person) -> None:
    silent = await upload(ada, film(sound=False), "film.mp4", path="/api/v1/media")
    assert (silent.status, silent.json["type"]) == (200, "gifv")
    moving = await uploaded(ada, animation(), name="a.gif")
    assert moving["type"] == "gifv"
    assert moving["url"].endswith(".mp4")
    assert [path.suffix for path in left(stage)].count(".mp4") == 2
    assert not [path for path in left(stage) if {"incoming", "waiting"} & {*path.parts}]


async def test_sound_has_no_picture_unless_its_owner_gives_one(ada: Person) -> None:
    sound = await upload(
        ada, film(sound=True, pictures=False), "a.ogg", path="/api/v1/media", thumbnail=picture(20, 20)
    )
    assert sound.json == sound.json | {"type": "audio"}
    assert sound.json["meta"] == sound.json["meta"] | {"audio_encode": "mp3", "audio_channels": "stereo"}
    assert sound.json["meta"]["small"]["size"] == "20x20"
    assert (await fetched(ada, sound.json["url"])).headers["Content-Type"] == "audio/mpeg"


async def test_a_film_that_cannot_be_read_fails_later(ada: Person) -> None:
    accepted = await upload(ada, film(sound=True)[:900], "film.mp4")
    assert accepted.status == 202
    failed = await finished(ada, accepted.json["id"])
    assert (failed.status, failed.json) == (422, FAILED)
    changed = await ada.send("PUT", f"/api/v1/media/{accepted.json['id']}", form={"description": "x"})
    assert (changed.status, changed.json) == (422, FAILED)
    refused = await try_to_attach(ada, accepted.json["id"])
    assert (refused.status, refused.json) == (422, FAILED), "apps try again with what is not finished"


async def test_a_film_may_be_deleted_while_it_is_processed(stage: Stage, ada: Person, held: trio.Event) -> None:
    first = await upload(ada, film(sound=True), "film.mp4")
    assert (await ada.delete(f"/api/v1/media/{first.json['id']}")).status == 200
    held.set()
    second = await upload(ada, film(sound=False), "film.mp4", path="/api/v1/media")
    assert second.status == 200
    await files_removed(stage)
    assert len(left(stage)) == 2


async def test_without_ffmpeg_films_are_refused_and_a_gif_stays_one(stage: Stage, ada: Person) -> None:
    stage.http_context.media.ffmpeg = None
    for path in ("/api/v1/media", "/api/v2/media"):
        refused = await upload(ada, film(sound=True), "film.mp4", path=path)
        assert (refused.status, refused.json) == (422, WRONG_TYPE)
    moving = await uploaded(ada, animation(), name="a.gif")
    assert moving["type"] == "image"
    shown = pyvips.Image.new_from_buffer((await fetched(ada, moving["url"])).body, "", n=-1)
    assert (shown.get_n_pages(), shown.get_page_height()) == (3, 16)


# Accidents --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lost", ["time", "memory"])
async def test_a_process_that_comes_to_no_result_is_a_500(
    stage: Stage, ada: Person, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    async def lose(job: Any) -> int:
        (Path(job.folder) / process.LAST_WORDS).write_text("out of " + lost)
        return 1

    monkeypatch.setattr(process, "run", lose)
    reply = await upload(ada, picture())
    assert (reply.status, reply.json) == (500, FAILED)
    assert left(stage) == []


@pytest.mark.usefixtures("each_in_a_process")
async def test_a_process_that_takes_too_long_is_killed(
    stage: Stage, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processor, "IMAGE_PATIENCE", 0.01)
    reply = await upload(ada, picture())
    assert (reply.status, reply.json) == (500, FAILED)
    assert left(stage) == []


async def test_what_a_crash_left_is_removed_and_what_waits_is_done(stage: Stage, ada: Person, media_store: str) -> None:
    http_context, kept = stage.http_context, await uploaded(ada)
    folder, key = http_context.media.folder, "a" * 32
    (folder.begin(key) / f"{key}.jpg").write_bytes(b"made")
    folder.publish(key, [f"{key}.jpg"])
    folder.begin(Path(kept["url"]).stem)  # published and stored, and then the server was killed
    (folder.root / "waiting").mkdir()
    folder.waiting(404).write_bytes(b"never stored")
    os.utime(folder.waiting(404), (0, 0))
    # A file is moved into the local store, and copied into a bucket.
    assert len(left(stage)) == (5 if media_store == "s3" else 4)
    await http_context.media.cleaning.find_left()
    await http_context.media.cleaning.remove_unstored()
    assert len(left(stage)) == 2
    assert (await fetched(ada, kept["url"])).status == 200


async def test_what_a_killed_command_left_is_removed_after_a_day(stage: Stage) -> None:
    """An emoji whose row is stored keeps its files, and a command that may still run is left alone."""
    folder, clean = commands_folder(stage), stage.http_context.media.cleaning
    kept = await add_emoji(stage, "kept")
    keys = {"left": "a" * 32, "young": "b" * 32, "kept": kept.file.partition(".")[0]}
    for name, key in keys.items():
        files = kept.files if name == "kept" else (f"{key}.webp", f"{key}-small.webp")
        for file in files:
            (folder.incoming(key) if file != files[0] else folder.begin(key)).joinpath(file).write_bytes(b"made")
        folder.publish(key, files)
        if name != "young":
            os.utime(folder.incoming(key), (0, 0))
    await clean.find_left()
    await clean.remove_unstored()
    assert sorted(folder.unfinished()) == [keys["young"]]
    assert {name: len(folder.published(key)) for name, key in keys.items()} == {"left": 0, "young": 2, "kept": 2}


@pytest.mark.parametrize("options", [{"rate_limits": True}])
async def test_uploads_of_both_versions_are_counted_together(ada: Person) -> None:
    for number in range(30):
        reply = await upload(ada, b"text", path=f"/api/v{1 + number % 2}/media")
        assert (reply.status, reply.json) == (422, WRONG_TYPE)
        assert reply.headers["X-RateLimit-Limit"] == "30"
    assert (await upload(ada, b"text")).status == 429
