"""The media of several nodes, which share one database and one media folder. The server of these tests is `main`."""

import os
from pathlib import Path

import pytest
import trio
import trio.testing

from troupe.actors.media import cleaning
from troupe.actors.media.cleaning import Cleaning
from troupe.storage.files import Folder

from ..clients import Person, Stage
from ..waiting import until
from .sweeping import Led
from .uploading import film, store_file, upload, uploaded

TWO_DAYS = 2 * 24 * 3600
A_DAY_AGO = "UPDATE media_attachments SET updated_at = updated_at - interval '1 day' WHERE id = $1"
CLEAN = Cleaning.run  # the servers of these tests clean nothing by the clock


def left(stage: Stage) -> set[str]:
    """The files in the media folder."""
    root = stage.http_context.media.folder.root
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def put(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"a part of an upload")
    return path


def make_old(path: Path) -> None:
    then = path.stat().st_mtime - TWO_DAYS
    os.utime(path, (then, then))


async def start_cleaning(stage: Stage) -> None:
    """Clean as at the start of the node."""
    await stage.http_context.media.cleaning.find_left()
    await stage.http_context.media.cleaning.remove_unstored()


async def sent_to(stage: Stage, person: Person, node: str) -> str:
    """The id of a film that waits at a node."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage.http_context.media.queue, "wake", lambda: None)
        accepted = await upload(person, film(sound=True), "film.mp4")
    assert accepted.status == 202, accepted.text
    await stage.sql("UPDATE media_attachments SET node = $2 WHERE id = $1", int(accepted.json["id"]), node)
    return accepted.json["id"]


async def test_a_node_that_starts_removes_its_own_unfinished_uploads_alone(stage: Stage) -> None:
    root = stage.http_context.media.folder.root
    put(Folder(root, "main").begin("a" * 32) / "source")
    put(Folder(root, "other").begin("b" * 32) / "source")
    await start_cleaning(stage)
    assert left(stage) == {f"incoming/other/{'b' * 32}/source"}
    assert stage.told("media.cleaned") == [{"decision": "removed 1 unfinished uploads"}]
    await start_cleaning(stage)
    assert len(stage.told("media.cleaned")) == 1  # nothing was left


async def test_a_node_cleans_when_it_starts_and_from_time_to_time(
    stage: Stage, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleaning, "EVERY", 0)
    media, attachments = stage.http_context.media, [await uploaded(ada), await uploaded(ada)]
    put(media.folder.begin("a" * 32) / "source")
    await media.cleaning.find_left()
    said = ["removed 1 unfinished uploads", "removed 1 attachments in no post", "removed 1 attachments in no post"]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(CLEAN, media.cleaning)
        for round, attachment in enumerate(attachments, 2):
            await stage.sql(A_DAY_AGO, int(attachment["id"]))
            await until(lambda most=round: len(stage.told("media.cleaned")) >= most)
        nursery.cancel_scope.cancel()
    assert [facts["decision"] for facts in stage.told("media.cleaned")] == said


async def test_a_node_that_does_not_lead_deletes_no_rows(stage: Stage, ada: Person) -> None:
    context, attachment = stage.http_context, await uploaded(ada)
    await stage.sql(A_DAY_AGO, int(attachment["id"]))
    put(context.media.folder.begin("a" * 32) / "source")
    led = Cleaning(context.database, context.clock, context.record, stage.outbox, context.media.folder, Led())
    await led.find_left()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(CLEAN, led)
        await until(lambda: bool(stage.told("media.cleaned")))
        await trio.testing.wait_all_tasks_blocked(0.05)
        nursery.cancel_scope.cancel()
    assert stage.told("media.cleaned") == [{"decision": "removed 1 unfinished uploads"}]
    assert await stage.rows("SELECT id FROM media_attachments") == [[int(attachment["id"])]]


async def test_unfinished_uploads_of_an_earlier_version_are_removed(stage: Stage, ada: Person) -> None:
    """They lie where the folders of the nodes are now. Stored files of theirs stay."""
    root, kept, key = stage.http_context.media.folder.root, await uploaded(ada), "a" * 32
    before = left(stage)
    put(root / "incoming" / key / "source")
    put(root / "incoming" / Path(kept["url"]).stem / "source")
    store_file(stage, f"{key}.jpg", b"photo")
    await start_cleaning(stage)
    assert left(stage) == before
    assert not list((root / "incoming").glob("?" * 32))


async def test_a_waiting_upload_without_a_row_is_removed_after_a_day(stage: Stage) -> None:
    """Another node may be about to store the row of a younger one."""
    folder = stage.http_context.media.folder
    put(folder.waiting(1))
    make_old(put(folder.waiting(2)))
    await start_cleaning(stage)
    assert left(stage) == {"waiting/1"}


@pytest.mark.parametrize("node", ["main", "other"])
async def test_an_old_upload_that_waits_is_kept_by_every_node(stage: Stage, ada: Person, node: str) -> None:
    id = await sent_to(stage, ada, node)
    make_old(stage.http_context.media.folder.waiting(int(id)))
    await start_cleaning(stage)
    assert left(stage) == {f"waiting/{id}"}


async def test_a_film_waits_for_the_node_that_received_it(stage: Stage, ada: Person) -> None:
    others = await sent_to(stage, ada, "other")
    own = await upload(ada, film(sound=True), "film.mp4", path="/api/v1/media")
    assert own.status == 200
    assert (await ada.get(f"/api/v1/media/{others}")).status == 206
    await stage.sql("UPDATE media_attachments SET node = 'main' WHERE id = $1", int(others))
    stage.http_context.media.wake()
    with trio.fail_after(60):
        while (reply := await ada.get(f"/api/v1/media/{others}")).status == 206:
            await trio.testing.wait_all_tasks_blocked(0.01)
    assert reply.status == 200


@pytest.mark.parametrize("options", [{"node": "b-2", "rate_limits": False}])
async def test_a_node_processes_what_it_receives_under_its_name(stage: Stage, ada: Person) -> None:
    ready = await upload(ada, film(sound=True), "film.mp4", path="/api/v1/media")
    assert ready.status == 200
    assert await stage.rows("SELECT node FROM media_attachments") == [["b-2"]]
