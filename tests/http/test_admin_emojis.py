"""Custom emoji as staff manage them by the API."""

from typing import Any

import pytest
import pyvips

from troupe.actors.media import process
from troupe.actors.media.jobs import Job

from ..clients import Person, Reply, Stage
from .uploading import animation, fetched, files_removed, film, part, picture

EMOJIS = "/api/v1/admin/custom_emojis"


async def send(client: Person, data: bytes, shortcode: str = "cat", **more: str) -> Reply:
    return await client.post(EMOJIS, files={"image": part(data)}, form={"shortcode": shortcode, **more})


async def listed(stage: Stage) -> list[Any]:
    return (await stage.anybody().get("/api/v1/custom_emojis")).json


def files(stage: Stage) -> set[str]:
    return {path.name for path in stage.http_context.media.folder.root.rglob("*") if path.is_file()}


async def test_an_emoji_is_added_changed_and_removed(stage: Stage, adm: Person, ada: Person) -> None:
    status = await ada.publish("a :cat:")
    made = (await send(adm, picture(600, 300, "webp"), category=" Animals ", visible_in_picker="false")).json
    assert made == {
        "id": made["id"], "shortcode": "cat", "url": made["url"], "static_url": made["url"], "category": "Animals",
        "visible_in_picker": False, "disabled": False,
    }  # fmt: skip
    shown = {name: made[name] for name in ("shortcode", "url", "static_url", "visible_in_picker", "category")}
    assert await listed(stage) == [shown]
    assert (await ada.get(f"/api/v1/statuses/{status['id']}")).json["emojis"] == [shown]
    image = pyvips.Image.new_from_buffer((await fetched(ada, made["url"])).body, "")
    assert (image.width, image.height) == (256, 128)
    path = f"{EMOJIS}/{made['id']}"
    assert (await adm.get(path)).json == made
    changed = (await adm.put(path, {"category": "", "disabled": "true"})).json
    assert changed == {name: value for name, value in made.items() if name != "category"} | {"disabled": True}
    assert (await adm.get(EMOJIS)).json == [changed]
    assert await listed(stage) == []
    assert (await ada.get(f"/api/v1/statuses/{status['id']}")).json["emojis"] == []
    assert (await adm.delete(path)).json == {}
    assert (await adm.delete(path)).status == 404
    log = await stage.rows("SELECT actor, action, target FROM audit_log ORDER BY id")
    acts = ("add_custom_emoji", "change_custom_emoji", "remove_custom_emoji")
    assert log == [["adm", act, "cat"] for act in acts]
    await files_removed(stage)
    assert files(stage) == set()


async def test_a_new_picture_takes_the_place_of_the_old_one(stage: Stage, adm: Person) -> None:
    made = (await send(adm, picture())).json
    reply = await adm.put(f"{EMOJIS}/{made['id']}", files={"image": part(animation(600, 300, 4))})
    changed = reply.json
    assert changed["static_url"] not in (changed["url"], made["url"])
    assert await listed(stage) == [
        {name: changed[name] for name in ("shortcode", "url", "static_url", "visible_in_picker")}
    ]
    await files_removed(stage)
    assert files(stage) == {changed[name].rpartition("/")[2] for name in ("url", "static_url")}


async def test_a_taken_name_is_refused_and_its_picture_goes(stage: Stage, adm: Person) -> None:
    await send(adm, picture())
    before = files(stage)
    refused = await send(adm, animation())
    assert (refused.status, refused.json) == (
        422, {"error": "Validation failed: Shortcode has already been taken"}
    )  # fmt: skip
    assert files(stage) == before
    assert (await send(adm, picture(), "Cat")).status == 200  # another name


@pytest.mark.parametrize(
    ("form", "data", "reason"),
    [
        ({"shortcode": ""}, picture(), "Shortcode can't be blank"),
        ({"shortcode": "c"}, picture(), "Shortcode must have 2 to 100 letters a to z, digits and underscores"),
        ({"shortcode": "a" * 101}, picture(), "Shortcode must have 2 to 100"),
        ({"shortcode": "../cat"}, picture(), "Shortcode must have 2 to 100"),
        ({"shortcode": "cat\n"}, picture(), "Shortcode must have 2 to 100"),
        ({"category": "x" * 101}, picture(), "Category must have at most 100 characters"),
        ({"category": "a\u202eb"}, picture(), "Category must have at most 100 characters"),
        ({}, b"", "Image can't be blank"),
        ({}, b"\x89PNG\r\n\x1a\n" + b"\0" * 256 * 1024, "Image must be less than 256 KB"),
        ({}, picture(8, 8, "jpg"), "Image content type is invalid"),
        ({}, b"<svg xmlns='http://www.w3.org/2000/svg'/>", "Image content type is invalid"),
        ({}, film(sound=False), "Image content type is invalid"),
        ({}, pyvips.Image.black(10_000, 10_000).pngsave_buffer(compression=9), "10000x10000 images are not supported"),
        ({}, picture()[:60], ""),
    ],
)
async def test_what_is_no_emoji_is_refused_and_leaves_nothing(
    stage: Stage, adm: Person, form: dict[str, str], data: bytes, reason: str
) -> None:
    refused = await send(adm, data, **{"shortcode": "cat", **form})
    assert refused.status == 422, refused.text
    assert reason in refused.json["error"]
    assert await stage.rows("SELECT id FROM custom_emojis") == []
    assert files(stage) == set()


async def test_a_picture_is_decoded_in_a_process_of_its_own(
    stage: Stage, adm: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = list[Job]()
    run = process.run

    async def seen(job: Job) -> int:
        jobs.append(job)
        return await run(job)

    monkeypatch.setattr(process, "run", seen)
    await send(adm, picture())
    assert [(job.task, job.ffmpeg) for job in jobs] == [("emoji", "")]


async def test_an_emoji_of_another_server_is_not_managed_here(stage: Stage, adm: Person) -> None:
    made = (await send(adm, picture())).json
    await stage.sql("UPDATE custom_emojis SET domain = 'far.example'")
    path = f"{EMOJIS}/{made['id']}"
    assert (await adm.get(EMOJIS)).json == []
    assert [(await reply).status for reply in (adm.get(path), adm.put(path, {}), adm.delete(path))] == [404] * 3


async def test_pages_are_cut_by_id(adm: Person) -> None:
    for name in ("cat", "dog", "owl"):
        await send(adm, picture(), name)
    newest = await adm.get(f"{EMOJIS}?limit=2")
    assert [one["shortcode"] for one in newest.json] == ["owl", "dog"]
    rest = await adm.get(f"{EMOJIS}?limit=2&max_id={newest.json[-1]['id']}")
    assert [one["shortcode"] for one in rest.json] == ["cat"]
    first = await adm.get(f"{EMOJIS}?limit=2&min_id=0")
    assert [one["shortcode"] for one in first.json] == ["dog", "cat"]


async def test_pictures_of_emoji_are_not_left_overs_of_a_crash(stage: Stage, adm: Person) -> None:
    made = (await send(adm, animation())).json
    media = stage.http_context.media
    names = {made[name].rpartition("/")[2] for name in ("url", "static_url")}
    media.folder.begin(min(names).partition(".")[0].removesuffix("-small"))  # as a crash before its removal leaves it
    await media.cleaning.find_left()
    await media.cleaning.remove_unstored()
    assert files(stage) == names
