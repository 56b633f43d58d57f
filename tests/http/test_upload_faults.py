"""Uploads with faults: the cause, the retries, and that no account waits for the failures of another."""

import errno
import os
import signal
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from troupe.actors.commands.media import MOST_WAITING
from troupe.actors.kernel.cell import CellPhase
from troupe.actors.media import process, processor, queue
from troupe.actors.media.jobs import Job
from troupe.http.access.rates import RateRule, Rates, RateStatus

from ..clients import Person, Stage
from ..small_disks import fill, small_disk
from .uploading import files_removed, film, part, picture, try_to_attach, upload, uploaded

FAILED = "Error processing thumbnail for uploaded media"
SOON = 60  # seconds, for what takes a few


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same pauses in a hundredth of the time."""
    monkeypatch.setattr(queue, "PAUSES", (0.1, 0.2, 0.3))
    monkeypatch.setattr(queue, "MACHINE_PAUSES", (0.1,))
    monkeypatch.setattr(queue, "ASK_AGAIN", (0.1,))
    monkeypatch.setattr(processor, "KILLED_PAUSES", (0.01, 0.02))


class Processes:
    """The media processes of a test: how often each kind of job was begun, and what happens to it."""

    def __init__(self) -> None:
        self._run = process.run
        self.begun: list[Job] = []
        self.happens: Callable[[Job, int], Any] = lambda job, number: None

    async def __call__(self, job: Job) -> int:
        if job.task == "probe":
            return await self._run(job)
        self.begun.append(job)
        code = self.happens(job, len(self.begun))
        if isinstance(code, trio.Event):
            await code.wait()
        return code if isinstance(code, int) else await self._run(job)

    def count(self, task: str) -> int:
        return sum(job.task == task for job in self.begun)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Processes:
    made = Processes()
    monkeypatch.setattr(process, "run", made)
    return made


async def state(person: Person, id: str, unlike: int = 206) -> Any:
    """An upload's reply when its status is another one than `unlike`."""
    with trio.fail_after(SOON):
        while (reply := await person.get(f"/api/v1/media/{id}")).status == unlike:
            await trio.testing.wait_all_tasks_blocked(0.02)
    return reply


async def sent(person: Person) -> str:
    """The id of a film that was accepted."""
    accepted = await upload(person, film(sound=True), "film.mp4")
    assert accepted.status == 202, accepted.text
    return accepted.json["id"]


def told(stage: Stage, event: str) -> list[dict[str, Any]]:
    return list[dict[str, Any]](stage.told(event))


def left(stage: Stage) -> list[Path]:
    return sorted(path for path in stage.http_context.media.folder.root.rglob("*") if path.is_file())


async def until(true: Callable[[], bool]) -> None:
    with trio.fail_after(SOON):
        while not true():
            await trio.testing.wait_all_tasks_blocked(0.02)


# Whose fault -------------------------------------------------------------------------------------------------------


async def test_a_film_whose_process_was_killed_is_tried_again_and_gets_ready(
    stage: Stage, ada: Person, processes: Processes
) -> None:
    processes.happens = lambda job, number: -signal.SIGKILL if number == 1 else None
    assert (await state(ada, await sent(ada))).status == 200
    (retry,) = told(stage, "media.retry")
    assert (retry["error"], retry["decision"]) == ("killed by signal 9 (SIGKILL)", "try 2 of 4 in 0.1 s")
    assert retry["actor"] == f"account/{ada.id}"


async def test_a_film_whose_process_is_killed_each_time_is_given_up_for_the_reason_it_had(
    stage: Stage, ada: Person, processes: Processes
) -> None:
    processes.happens = lambda job, number: -signal.SIGKILL
    id = await sent(ada)
    gone = await state(ada, id)
    assert (gone.status, gone.json) == (422, {"error": f"{FAILED}: killed by signal 9 (SIGKILL)"})
    assert (await ada.send("PUT", f"/api/v1/media/{id}", form={"description": "x"})).json == gone.json
    assert processes.count("film") == 4
    (failed,) = told(stage, "media.failed")
    assert (failed["error"], failed["decision"]) == ("killed by signal 9 (SIGKILL)", "given up after 4 tries")
    await until(lambda: left(stage) == [])


async def test_a_restart_does_not_forget_how_often_a_film_was_tried(
    stage: Stage, ada: Person, processes: Processes
) -> None:
    """A film that takes the whole server down with it is not tried for ever."""
    held = trio.Event()
    processes.happens = lambda job, number: held
    id = await sent(ada)
    await until(lambda: processes.count("film") == 1)
    assert await stage.rows("SELECT tries FROM media_attachments WHERE id = $1", int(id)) == [[1]]


async def test_a_film_that_took_the_server_down_in_each_of_four_tries_is_not_tried_again(
    stage: Stage, ada: Person, processes: Processes
) -> None:
    id = await sent_unnoticed(stage, ada)
    await stage.sql("UPDATE media_attachments SET tries = 4 WHERE id = $1", int(id))
    stage.http_context.media.wake()
    gone = await state(ada, id)
    assert (gone.status, gone.json) == (422, {"error": f"{FAILED}: the server ended during each try"})
    assert processes.count("film") == 0
    assert told(stage, "media.failed")[0]["decision"] == "given up after 4 tries"


async def test_a_film_that_was_accepted_waits_for_an_ffmpeg_that_is_gone(stage: Stage, ada: Person) -> None:
    id, ffmpeg = await sent_unnoticed(stage, ada), stage.http_context.media.ffmpeg
    stage.http_context.media.ffmpeg = None
    stage.http_context.media.wake()
    await until(lambda: len(told(stage, "media.retry")) > 4)
    assert told(stage, "media.retry")[0]["error"] == "FFmpeg is not installed"
    stage.http_context.media.ffmpeg = ffmpeg
    assert (await state(ada, id)).status == 200


async def test_a_body_for_which_the_temporary_folder_has_no_room_is_a_503(
    stage: Stage, ada: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small_disk(tmp_path / "tmp", "1m") as disk:
        monkeypatch.setattr(tempfile, "tempdir", str(disk))
        reply = await upload(ada, picture() + bytes(2_000_000))
        assert (reply.status, "try again" in reply.json["error"]) == (503, True)
    assert [facts["error"] for facts in told(stage, "storage.refused")] == ["disk full"]


async def test_an_image_whose_process_was_killed_is_tried_again_while_its_uploader_waits(
    stage: Stage, ada: Person, processes: Processes
) -> None:
    processes.happens = lambda job, number: -signal.SIGKILL if number == 1 else None
    assert (await uploaded(ada))["type"] == "image"
    assert [facts["error"] for facts in told(stage, "media.retry")] == ["killed by signal 9 (SIGKILL)"]
    processes.happens = lambda job, number: -signal.SIGSEGV
    begun = len(processes.begun)
    reply = await upload(ada, picture())
    assert (reply.status, reply.json, len(processes.begun) - begun) == (500, {"error": FAILED}, 3)
    assert told(stage, "media.failed")[-1]["error"] == "killed by signal 11 (SIGSEGV)"


@pytest.mark.usefixtures("each_in_a_process")
async def test_a_film_waits_while_the_disk_is_full_and_gets_ready_when_it_is_not(
    stage: Stage, ada: Person, processes: Processes
) -> None:
    filled = trio.Event()
    processes.happens = lambda job, number: filled
    with small_disk(stage.http_context.media.folder.root, "64m") as disk:
        id = await sent(ada)
        fill(disk / "full")
        filled.set()
        await until(lambda: len(told(stage, "media.retry")) > 5)
        assert {facts["error"] for facts in told(stage, "media.retry")} == {"disk full"}
        assert (await ada.get(f"/api/v1/media/{id}")).status == 206
        (disk / "full").unlink()
        assert (await state(ada, id)).status == 200
    assert await stage.rows("SELECT tries FROM media_attachments WHERE id = $1", int(id)) == [[1]]


async def test_an_upload_for_which_the_disk_has_no_room_is_a_503_and_the_log_says_why(
    stage: Stage, ada: Person
) -> None:
    with small_disk(stage.http_context.media.folder.root, "1m"):
        reply = await upload(ada, film(sound=True) + bytes(2_000_000), "film.mp4")
        assert (reply.status, reply.headers["Retry-After"]) == (503, "3")
        assert "try again" in reply.json["error"]
        assert [path for path in left(stage) if path.stat().st_size] == []
    (refused,) = told(stage, "storage.refused")
    assert refused["error"].startswith("disk full")


@pytest.mark.parametrize("fault", [errno.EACCES, errno.EIO, errno.EISDIR])
async def test_an_upload_that_cannot_be_read_delays_no_other_one(
    stage: Stage, ada: Person, bob: Person, monkeypatch: pytest.MonkeyPatch, fault: int
) -> None:
    begin = processor.MediaProcessor._begin  # pyright: ignore[reportPrivateUsage]  # it is replaced

    def fail(self: Any, key: str, source: Path) -> Any:
        if source.name == unreadable:
            raise OSError(fault, os.strerror(fault), str(source))
        return begin(self, key, source)

    monkeypatch.setattr(processor.MediaProcessor, "_begin", fail)
    unreadable = await sent_unnoticed(stage, ada)
    good = await sent(bob)
    assert (await state(bob, good)).status == 200
    gone = await state(ada, unreadable)
    assert (gone.status, gone.json) == (422, {"error": f"{FAILED}: the server could not process this file"})
    assert os.strerror(fault) in told(stage, "media.failed")[0]["error"]


async def sent_unnoticed(stage: Stage, person: Person) -> str:
    """Return the id of a film that has not been processed yet."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage.http_context.media.queue, "wake", lambda: None)
        return await sent(person)


async def test_an_upload_that_lies_there_as_a_folder_does_not_end_the_server(stage: Stage, ada: Person) -> None:
    """What no right to read can help against, also for root."""
    id = await sent_unnoticed(stage, ada)
    path = stage.http_context.media.folder.waiting(int(id))
    path.unlink()
    path.mkdir()
    stage.http_context.media.wake()
    assert (await state(ada, id)).status == 422
    assert (await uploaded(ada))["type"] == "image"


# Fairness ----------------------------------------------------------------------------------------------------------


async def test_an_account_in_quarantine_delays_no_film_of_other_accounts(
    stage: Stage, ada: Person, bob: Person, processes: Processes
) -> None:
    held = trio.Event()
    processes.happens = lambda job, number: held if number == 1 else None
    id = await sent(ada)
    await until(lambda: processes.count("film") == 1)
    cell = stage.http_context.runtime.pools["account"].cell(ada.id)
    cell.phase, cell.release_at = CellPhase.QUARANTINED, trio.current_time() + 3600
    held.set()
    films = [await sent(bob) for _ in range(2)]
    for one in films:
        assert (await state(bob, one)).status == 200
    await until(lambda: any(facts["error"].startswith("Quarantined") for facts in told(stage, "media.retry")))
    stage.http_context.runtime.pools["account"].recovery.release(cell)
    assert (await state(ada, id)).status == 200
    assert processes.count("film") == 3  # its film was not made a second time


async def test_images_are_answered_while_films_take_all_the_time_there_is(
    stage: Stage, ada: Person, processes: Processes
) -> None:
    processes.happens = lambda job, number: trio.Event() if job.task == "film" else None
    others = [await stage.person(name) for name in ("bob", "eve", "kim")]
    for person in (*others, ada):
        await sent(person)
    await until(lambda: processes.count("film") == 2)
    with trio.fail_after(SOON):
        for person in (*others, ada):
            assert (await uploaded(person))["type"] == "image"
    assert stage.http_context.media.inspect()["films"] == "2 of 2, 2 waiting"


async def test_a_moving_gif_is_not_in_front_of_images(
    stage: Stage, ada: Person, bob: Person, processes: Processes
) -> None:
    processes.happens = lambda job, number: trio.Event() if job.ffmpeg else None
    async with trio.open_nursery() as nursery:
        for person in (ada, bob):
            nursery.start_soon(upload, person, b"GIF89a" + bytes(100), "a.gif")
        await until(lambda: stage.http_context.media.inspect()["gifs"] == "1 of 1, 1 waiting")
        with trio.fail_after(SOON):
            assert (await uploaded(ada))["type"] == "image"
        nursery.cancel_scope.cancel()


async def test_an_account_that_uploads_a_lot_has_one_process_at_a_time_and_others_pass_it(
    stage: Stage, ada: Person, bob: Person, processes: Processes
) -> None:
    gates: list[tuple[str, trio.Event]] = []

    def hold(job: Job, number: int) -> trio.Event:
        gates.append((job.task, gate := trio.Event()))
        return gate

    processes.happens = hold
    async with trio.open_nursery() as nursery:
        for _ in range(6):
            nursery.start_soon(upload, ada, picture())
        await until(lambda: stage.http_context.media.inspect()["images"] == "1 of 2, 5 waiting")
        processes.happens = lambda job, number: None
        with trio.fail_after(SOON):
            assert (await uploaded(bob))["type"] == "image"
        assert len(gates) == 1
        gates[0][1].set()


async def test_what_one_account_may_have_waiting_is_bounded(stage: Stage, ada: Person, processes: Processes) -> None:
    processes.happens = lambda job, number: trio.Event()
    for _ in range(MOST_WAITING):
        await sent(ada)
    before = left(stage)
    refused = await upload(ada, film(sound=True), "film.mp4")
    assert (refused.status, refused.json) == (
        429, {"error": "At most 5 uploads may wait for processing. Try again in a moment!"},
    )  # fmt: skip
    assert {path.name for path in left(stage)} - {path.name for path in before} == set()


async def test_what_one_account_may_send_at_once_is_bounded(stage: Stage, ada: Person, processes: Processes) -> None:
    processes.happens = lambda job, number: trio.Event()
    replies: list[int] = []

    async def send() -> None:
        replies.append((await upload(ada, picture())).status)

    async with trio.open_nursery() as nursery:
        for _ in range(12):
            nursery.start_soon(send)
        await until(lambda: len(replies) == 4)
        assert replies == [429] * 4
        nursery.cancel_scope.cancel()
    assert (await upload(ada, b"text")).status == 422


async def test_a_film_that_is_deleted_while_it_waits_leaves_no_file(
    stage: Stage, ada: Person, processes: Processes
) -> None:
    id = await sent_unnoticed(stage, ada)
    assert len(left(stage)) == 1
    assert (await ada.delete(f"/api/v1/media/{id}")).status == 200
    await files_removed(stage)
    assert left(stage) == []


async def test_who_waits_for_a_film_is_answered_when_it_is_put_off(
    stage: Stage, ada: Person, processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "PAUSES", (600.0, 600.0, 600.0))
    processes.happens = lambda job, number: -signal.SIGKILL
    with trio.fail_after(SOON):
        reply = await upload(ada, film(sound=True), "film.mp4", path="/api/v1/media")
    assert (reply.status, reply.json["url"]) == (202, None)
    assert (await try_to_attach(ada, reply.json["id"])).status == 422


# Limits ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def one_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """No window of a rate limit ends during the test."""
    count, noon = Rates.count, datetime(2026, 11, 22, 12, tzinfo=UTC)

    def count_at_noon(rates: Rates, rule: RateRule, subject: str, now: datetime) -> RateStatus:
        return count(rates, rule, subject, noon)

    monkeypatch.setattr(Rates, "count", count_at_noon)


@pytest.mark.usefixtures("one_window")
@pytest.mark.parametrize("options", [{"rate_limits": True}])
async def test_pictures_of_profiles_and_thumbnails_count_as_media(ada: Person, bob: Person) -> None:
    medium = await uploaded(ada)
    for number in range(29):
        path, name = (
            ("/api/v1/accounts/update_credentials", "avatar"),
            ("/api/v1/profile", "header"),
            (f"/api/v1/media/{medium['id']}", "thumbnail"),
        )[number % 3]
        reply = await ada.send("PUT", path, files={name: part(b"text")})
        assert reply.status == 422, reply.text
        assert reply.headers["X-RateLimit-Limit"] == "30"
    for path, name in (
        ("/api/v1/accounts/update_credentials", "header"),
        ("/api/v1/profile", "avatar"),
        (f"/api/v1/media/{medium['id']}", "thumbnail"),
    ):
        assert (await ada.send("PUT", path, files={name: part(picture())})).status == 429
    assert (await upload(ada, picture())).status == 429
    changed = await ada.send("PUT", "/api/v1/accounts/update_credentials", form={"display_name": "Ada"})
    assert (changed.status, changed.headers["X-RateLimit-Limit"]) == (200, "300")
    described = await ada.send("PUT", f"/api/v1/media/{medium['id']}", form={"description": "x"})
    assert described.status == 200
    assert (await uploaded(bob))["type"] == "image"


@pytest.mark.usefixtures("one_window")
@pytest.mark.parametrize("options", [{"rate_limits": True}])
async def test_two_pictures_in_one_request_count_as_two(ada: Person) -> None:
    for _ in range(15):
        files = {"avatar": part(b"text"), "header": part(b"text")}
        assert (await ada.send("PUT", "/api/v1/accounts/update_credentials", files=files)).status == 422
    assert (await ada.send("PUT", "/api/v1/profile", files={"avatar": part(picture())})).status == 429
