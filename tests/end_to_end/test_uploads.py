"""Uploads on a real server with killed processes, full disks and unreadable files: accepted ones get ready."""

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest
import trio
import trio.testing
from mastodon import MastodonServiceUnavailableError

from troupe.storage.engine.connect import connect, transact_once
from troupe.storage.engine.database import Connection
from troupe.storage.engine.embedded import embedded

from ..small_disks import fill, small_disk
from .patience import eventually
from .server import Person, Server

DEADLINE = 240
LONG = ("-f", "lavfi", "-i", "testsrc2=d=20:s=320x240:r=20")  # takes a media process most of a second
SHORT = ("-f", "lavfi", "-i", "testsrc=d=1:s=64x48:r=10")
DUE = "UPDATE media_attachments SET retry_at = now() WHERE retry_at IS NOT NULL RETURNING id"

pytestmark = pytest.mark.timeout(DEADLINE + 30)


@cache
def film(*source: str) -> bytes:
    """An MP4 that takes little time to make and more to make anew."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "film.mp4"
        how = ("-c:v", "libx264", "-preset", "ultrafast", "-crf", "40")
        subprocess.run(["ffmpeg", "-v", "error", *source, *how, str(file)], check=True)
        return file.read_bytes()


async def sent(client: httpx.AsyncClient, data: bytes) -> str:
    """The id of a film that was accepted."""
    accepted = await client.post("/api/v2/media", files={"file": ("film.mp4", data, "video/mp4")})
    assert accepted.status_code == 202, accepted.text
    return accepted.json()["id"]


async def ready(client: httpx.AsyncClient, id: str) -> httpx.Response:
    """Its reply when it is processed."""
    while (reply := await client.get(f"/api/v1/media/{id}")).status_code == 206:
        await trio.testing.wait_all_tasks_blocked(0.2)
    return reply


async def until(true: Callable[[], Any]) -> Any:
    """What is looked for, when it is there."""
    while not (found := true()):
        await trio.testing.wait_all_tasks_blocked(0.05)
    return found


def working_in(folder: Path, program: str = "") -> list[int]:
    """The processes whose current folder is in this one; only those of a program, if it is named."""
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            runs = (process / "comm").read_text().strip()
            if program in ("", runs) and (process / "cwd").readlink().is_relative_to(folder):
                found.append(int(process.name))
    return found


async def person(server: Server) -> Person:
    await trio.to_thread.run_sync(server.start)
    return (await trio.to_thread.run_sync(server.people, "ada"))[0]


async def test_a_film_whose_process_is_killed_gets_ready_and_the_log_says_what_happened(own_server: Server) -> None:
    with trio.fail_after(DEADLINE):
        ada = await person(own_server)
        async with ada.http() as client:
            id = await sent(client, await trio.to_thread.run_sync(film, *LONG))
            incoming = own_server.data / "media" / "incoming" / "main"
            for pid in await until(lambda: working_in(incoming, "ffmpeg")):
                os.kill(pid, signal.SIGKILL)
            retry = await until(lambda: own_server.events("media.retry"))
            assert "killed by signal 9" in str(retry[0]["error"])
            assert (await client.get(f"/api/v1/media/{id}")).status_code == 206
            await trio.to_thread.run_sync(end_the_pause, own_server)
            await sent(client, await trio.to_thread.run_sync(film, *SHORT))  # which has the server look again
            assert (await ready(client, id)).json()["type"] == "gifv"
    assert own_server.stop() == 0


async def test_a_film_gets_ready_although_the_server_is_killed_while_it_is_made(own_server: Server) -> None:
    with trio.fail_after(DEADLINE):
        ada = await person(own_server)
        incoming = own_server.data / "media" / "incoming" / "main"
        async with ada.http() as client:
            id = await sent(client, await trio.to_thread.run_sync(film, *LONG))
            await until(lambda: working_in(incoming, "ffmpeg"))
            own_server.kill()
            await until(lambda: not working_in(incoming))
            await trio.to_thread.run_sync(own_server.start)
            assert (await ready(client, id)).status_code == 200
            await until(lambda: not list(incoming.iterdir()))
    assert own_server.stop() == 0


async def test_an_upload_that_cannot_be_read_does_not_end_the_server(own_server: Server) -> None:
    with trio.fail_after(DEADLINE):
        ada = await person(own_server)
        async with ada.http() as client:
            bad = await sent(client, await trio.to_thread.run_sync(film, *LONG))
            own_server.kill()
            upload = own_server.data / "media" / "waiting" / bad
            upload.unlink()
            upload.mkdir()
            await trio.to_thread.run_sync(own_server.start)
            await until(lambda: own_server.events("media.retry"))
            good = await sent(client, film(*SHORT))
            assert (await ready(client, good)).status_code == 200
            assert own_server.events("child.crashed") == []
    assert own_server.stop() == 0


async def test_a_film_waits_for_a_full_disk_and_the_tree_shows_that_it_is_low(own_server: Server) -> None:
    media = own_server.data / "media"
    with trio.fail_after(DEADLINE), small_disk(media, "64m"):
        ada = await person(own_server)
        async with ada.http() as client:
            id = await sent(client, await trio.to_thread.run_sync(film, *LONG))
            await trio.to_thread.run_sync(fill, media / "full")
            retry = await until(lambda: own_server.events("media.retry"))
            assert retry[0]["error"] == "disk full"
            refused = await client.post("/api/v2/media", files={"file": ("a.mp4", bytes(200_000), "video/mp4")})
            assert (refused.status_code, "try again" in refused.json()["error"]) == (503, True)
            assert (await client.get(f"/api/v1/media/{id}")).status_code == 206
            assert own_server.events("disk.low")
            assert "low=media" in (await trio.to_thread.run_sync(own_server.troupe, "tree")).stdout
            (media / "full").unlink()
            assert (await ready(client, id)).status_code == 200
    assert own_server.stop() == 0


async def test_posts_that_a_full_database_refuses_are_told_of_by_their_cause(own_server: Server) -> None:
    with trio.fail_after(DEADLINE), small_disk(own_server.data.parent / "small", "400k", mode="0777") as disk:
        ada = await person(own_server)
        await trio.to_thread.run_sync(move_statuses, own_server, disk)
        await trio.to_thread.run_sync(ada.app.status_post, "there is room")
        fill(disk / "full")
        refusals = 0
        for number in range(100):
            try:
                await trio.to_thread.run_sync(ada.app.status_post, f"{number} {'x' * 400}")
            except MastodonServiceUnavailableError:
                refusals += 1
            if refusals == 20:
                break
        assert refusals == 20
        told = own_server.events("storage.refused")
        assert len(told) in (1, 2)
        assert str(told[0]["error"]).startswith("disk full: could not extend file")
        tree = (await trio.to_thread.run_sync(own_server.troupe, "tree")).stdout
        (storage,) = [line for line in tree.splitlines() if line.split()[0] == "storage"]
        assert "refusing=disk full since 20" in storage
    assert own_server.stop() == 0


def move_statuses(server: Server, disk: Path) -> None:
    """Have PostgreSQL keep the statuses on another disk."""
    (disk / "tables").mkdir(mode=0o700)
    shutil.chown(disk / "tables", (server.data / "postgres").stat().st_uid)

    async def move(dsn: str) -> None:
        connection = await connect(dsn, application_name="test")
        await connection.execute(f"CREATE TABLESPACE small LOCATION '{disk / 'tables'}'")
        await connection.execute("ALTER TABLE statuses SET TABLESPACE small")
        await connection.close()

    with embedded(server.data) as postgres, asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        runner.run(move(postgres.dsn))


def end_the_pause(server: Server) -> None:
    """Have an upload be due that is tried again later. The server sees it when it looks again."""

    async def shorten(db: Connection) -> bool:
        return bool(await db.fetch(DUE))

    with embedded(server.data) as postgres:
        eventually(lambda: transact_once(postgres.dsn, shorten))
