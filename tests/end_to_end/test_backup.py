"""Backup, loss and restore on a real server that is busy meanwhile: every row and every file is there again."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from troupe.actors.media.kinds import HEAD, IMAGES, kind_of
from troupe.storage.engine.connect import LoneConnection
from troupe.storage.engine.embedded import embedded
from troupe.storage.files import COMMANDS, Folder
from troupe.storage.upkeep import copies

from .. import plain_http
from ..http.uploading import picture
from .copies import files_of, rows_of
from .server import Person, Server

DEADLINE = 240
WRITERS = 3
WARM = 8  # posts before the backup begins

pytestmark = pytest.mark.timeout(DEADLINE + 30)


class Work:
    """What people do, and what they know of it for sure."""

    def __init__(self) -> None:
        self.done = trio.Event()
        self.written: list[str] = []
        self.kept: dict[str, str] = {}  # posts that stay, with the addresses of their pictures


async def post(http: httpx.AsyncClient, text: str, width: int, height: int = 8) -> dict[str, Any]:
    """A post with a picture, which is another one for each size."""
    sent = await http.post("/api/v2/media", files={"file": ("a.png", picture(width, height), "image/png")})
    assert sent.status_code == 200, sent.text
    answer = await http.post("/api/v1/statuses", data={"status": text, "media_ids[]": sent.json()["id"]})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def write(person: Person, number: int, work: Work) -> None:
    """Make posts with pictures, delete every second one, and change the avatar, until the work is done."""
    async with person.http() as http:
        count = 0
        while not work.done.is_set():
            count += 1
            status = await post(http, f"{person.name} {count}", 8 + count, 8 + number)
            work.written.append(status["id"])
            if count % 2:
                work.kept[status["id"]] = status["media_attachments"][0]["url"]
            else:
                await http.delete(f"/api/v1/statuses/{status['id']}", params={"delete_media": "true"})
            if count % 5 == 0:
                avatar = {"avatar": ("a.png", picture(300 + number, 8 + count), "image/png")}
                await http.patch("/api/v1/accounts/update_credentials", files=avatar)


async def more(work: Work, count: int) -> None:
    """Wait until so many more posts are written that stay."""
    goal = len(work.kept) + count
    while len(work.kept) < goal:  # noqa: ASYNC110 - the writers tell nobody
        await trio.sleep(0.01)


async def test_a_busy_server_is_lost_and_restored(own_server: Server, tmp_path: Path) -> None:
    backups, work = tmp_path / "backups", Work()
    await trio.to_thread.run_sync(own_server.start)
    people = await trio.to_thread.run_sync(own_server.people, *("ada", "bob", "eve")[:WRITERS])
    with trio.fail_after(DEADLINE):
        async with trio.open_nursery() as nursery:
            for number, person in enumerate(people):
                nursery.start_soon(write, person, number, work)
            await more(work, WARM)
            before = dict(work.kept)
            made = await trio.to_thread.run_sync(own_server.troupe, "backup", backups, "--json")
            assert made.returncode == 0, made.stderr
            first = json.loads(made.stdout)
            await more(work, WRITERS)
            again = await trio.to_thread.run_sync(own_server.troupe, "backup", backups, "--json")
            assert again.returncode == 0, again.stderr
            meanwhile = len(work.written)
            work.done.set()
    second = json.loads(again.stdout)
    assert (first["missing"], second["missing"]) == ([], [])
    assert meanwhile > WARM, "they worked while the backups were made"
    assert 0 < second["new_files"] < second["files"]
    last_id = max(map(int, work.written))
    copy = Server(own_server.data.parent / "copy")
    await trio.to_thread.run_sync(check_restored, copy, own_server.data, backups, first["name"])
    async with people[0].http() as http:
        pictures = {url: (await http.get(url)).content for url in before.values()}
    # The last one in the place of the lost server.
    own_server.kill()
    own_server.end()
    lost = own_server.data.rename(own_server.data.parent / "lost")
    await trio.to_thread.run_sync(check_restored, own_server, lost, backups)
    await trio.to_thread.run_sync(own_server.start)
    async with people[0].http() as http:
        for id, url in before.items():
            assert (await http.get(f"/api/v1/statuses/{id}")).status_code == 200
            assert (await http.get(url)).content == pictures[url]
        new = await post(http, "after the loss", 8)
    assert int(new["id"]) > last_id, "also above those that were made after the backup"
    assert own_server.stop() == 0, own_server.log


def check_restored(copy: Server, lost: Path, backups: Path, name: str = "") -> None:
    """Restore the last backup, or the one with this name: each file that a restored row names is there, whole."""
    done = copy.troupe("restore", backups, *(("--backup", name) if name else ()))
    assert done.returncode == 0, done.stderr
    with embedded(copy.data, durable=False) as postgres, LoneConnection(postgres.dsn) as session:
        named = session(copies.named_files)
    media = Folder(copy.data / "media", COMMANDS)
    paths = {copy.data / "media" / media.place(one.name, withheld=one.withheld) for one in named}
    assert named
    assert {path for path in (copy.data / "media").rglob("*") if path.is_file()} == paths
    for path in paths:
        assert kind_of((restored := path.read_bytes())[:HEAD]) in IMAGES
        with suppress(FileNotFoundError):  # deleted by now
            assert restored == (lost / path.relative_to(copy.data)).read_bytes()


def test_a_server_at_rest_is_restored_row_by_row_and_file_by_file(own_server: Server, tmp_path: Path) -> None:
    own_server.start()
    ada, bob = own_server.people("ada", "bob")
    with plain_http.client(base_url=own_server.url, headers=ada.headers, timeout=30) as http:
        sent = http.post("/api/v2/media", files={"file": ("a.png", picture(), "image/png")}).json()
        http.post("/api/v1/statuses", data={"status": f"Hello @{bob.name}", "media_ids[]": sent["id"]})
    refused = own_server.troupe("db", "move", "postgresql://nobody@db.invalid/troupe")
    assert (refused.returncode, "another server runs on this database" in refused.stderr) == (1, True), refused.stderr
    texts = own_server.data / "texts"
    texts.mkdir()
    (texts / "description.md").write_text("A small server.")
    assert own_server.stop() == 0
    assert own_server.troupe("backup", tmp_path / "backups").returncode == 0
    copy = Server(own_server.data.parent / "copy")
    done = copy.troupe("restore", tmp_path / "backups")
    assert done.returncode == 0, done.stderr
    assert files_of(copy.data) == files_of(own_server.data)
    assert rows_of(copy.data) == rows_of(own_server.data)
