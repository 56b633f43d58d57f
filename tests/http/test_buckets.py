"""Media in a bucket: what clients see when the store fails, and where they get files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from troupe.actors.configuration import Settings
from troupe.storage import buckets
from troupe.storage.buckets import BucketStore
from troupe.storage.engine.faults import BucketFailed
from troupe.supervision.settings.media_folders import media_folder

from ..buckets import KEYS, closed_port
from ..clients import Person, Stage
from ..waiting import until_found
from .moderating import moderate, moderator, placed, undo
from .uploading import fetched, film, picture, upload, uploaded

AWAY = {"error": "The server is busy. Please try again in a moment."}


@pytest.fixture
def media_store() -> str:
    return "s3"


def files(stage: Stage) -> list[str]:
    return sorted(file.name for file in stage.http_context.media.folder.store.files())


def fail(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Have the store be away until the patch is undone."""
    context = stage.http_context
    chosen = {"media_store": "s3", "s3_endpoint": f"http://127.0.0.1:{closed_port()}", "s3_bucket": "b"} | KEYS
    away = media_folder(Settings.model_validate(chosen), "main").store
    monkeypatch.setattr(context.media.folder, "store", away)
    return monkeypatch


async def test_an_image_that_can_not_be_stored_is_to_be_sent_again(
    stage: Stage, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        fail(stage, patch)
        refused = await upload(ada, picture())
        assert (refused.status, refused.headers["Retry-After"]) == (503, "3")
    assert {facts["error"] for facts in stage.told("storage.refused")} == {"the store of media files fails"}
    assert stage.failures == []
    medium = await uploaded(ada, picture())
    assert (await fetched(ada, medium["url"])).status == 200
    assert len(files(stage)) == 2


async def test_what_was_stored_of_a_failed_upload_is_removed(
    stage: Stage, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the store fails at removing it: then the cleaning does it."""
    put, remove = BucketStore.put, BucketStore.remove

    def first_alone(store: BucketStore, name: str, source: Path, *, withheld: bool = False) -> None:
        if "small" in name:
            raise BucketFailed("away")
        put(store, name, source, withheld=withheld)

    def failing(*_: object) -> None:
        raise BucketFailed("away")

    with monkeypatch.context() as patch:
        patch.setattr(BucketStore, "put", first_alone)
        assert (await upload(ada, picture())).status == 503
        assert files(stage) == []
        patch.setattr(BucketStore, "remove", failing)
        assert (await upload(ada, picture())).status == 503
        assert len(files(stage)) == 1
    assert BucketStore.remove is remove
    await stage.http_context.media.cleaning.find_left()
    await stage.http_context.media.cleaning.remove_unstored()
    assert files(stage) == []


async def test_a_film_waits_until_it_can_be_stored(stage: Stage, ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        fail(stage, patch)
        accepted = await upload(ada, film(sound=False), "film.mp4")
        assert accepted.status == 202

        async def tried() -> list[dict[str, object]]:
            return stage.told("media.retry")

        assert (await until_found(tried))[0]["error"] == "the store of media files fails"
        assert (await ada.get(f"/api/v1/media/{accepted.json['id']}")).status == 206

    async def finished() -> Any:
        reply = await ada.get(f"/api/v1/media/{accepted.json['id']}")
        return reply if reply.status == 200 else None

    medium = (await until_found(finished)).json
    film_of = await fetched(ada, medium["url"], Range="bytes=0-7")
    assert (film_of.status, film_of.body[4:]) == (206, b"ftyp")
    assert (await stage.rows("SELECT tries FROM media_attachments"))[0] == [1], "the store's failure is no try"


async def test_a_store_that_is_away_is_no_missing_file(
    stage: Stage, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    medium = await uploaded(ada, picture())
    with monkeypatch.context() as patch:
        fail(stage, patch)
        assert (await fetched(ada, medium["url"])).status == 503
    assert (await fetched(ada, medium["url"])).status == 200


async def test_a_removed_file_waits_for_the_store(stage: Stage, ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    medium = await uploaded(ada, picture())
    with monkeypatch.context() as patch:
        fail(stage, patch)
        assert (await ada.delete(f"/api/v1/media/{medium['id']}")).status == 200

        async def tried() -> object:
            return stage.told("outbox.retry")

        await until_found(tried)
    assert len(files(stage)) == 2
    stage.outbox.wake()

    async def removed() -> bool:
        return files(stage) == []

    await until_found(removed)


async def test_the_files_of_a_suspended_account_are_out_of_reach(stage: Stage) -> None:
    mod, ada = await moderator(stage), await stage.person("ada")
    medium = await uploaded(ada, picture())
    store = stage.http_context.media.folder.store
    for state in (404, 200):
        if state == 404:
            assert await moderate(mod, ada, "suspend") == 200
        else:
            await undo(stage, ada.account, "suspend")
        await placed(stage)
        assert (await fetched(mod, medium["url"])).status == state
        assert {file.withheld for file in store.files()} == {state == 404}


@pytest.mark.parametrize("options", [{"media_url": "https://media.example.org/"}])
async def test_people_may_get_files_elsewhere(stage: Stage, ada: Person) -> None:
    medium = await uploaded(ada, picture())
    name = medium["url"].rpartition("/")[2]
    assert medium["url"] == f"{stage.http_context.settings.base_url}/media/{name}", "addresses stay when stores change"
    sent_on = await fetched(stage.anybody(), medium["url"])
    assert (sent_on.status, sent_on.headers["Location"]) == (302, f"https://media.example.org/media/{name}")
    assert "Sec-Fetch-Site" in sent_on.headers["Vary"]
    own_page = await fetched(stage.anybody(), medium["url"], **{"Sec-Fetch-Site": "same-origin"})
    assert (own_page.status, own_page.headers["Content-Type"]) == (200, "image/png")


async def test_a_slow_store_takes_no_threads_from_others(
    stage: Stage, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    medium = await uploaded(ada, picture())
    store = stage.http_context.media.folder.store
    assert store.limiter is not None
    assert store.limiter.total_tokens == buckets.AT_ONCE
    async with trio.open_nursery() as nursery:
        for _ in range(buckets.AT_ONCE):
            await store.limiter.acquire_on_behalf_of(object())
        nursery.start_soon(fetched, ada, medium["url"])
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert store.limiter.statistics().tasks_waiting == 1
        assert (await ada.get("/api/v1/accounts/verify_credentials")).status == 200
        nursery.cancel_scope.cancel()
