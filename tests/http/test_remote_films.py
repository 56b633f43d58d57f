"""Films and sound of other servers: fetched once, checked here, shown under addresses of this server."""

from __future__ import annotations

import errno
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

from troupe.actors.federation import remote_films
from troupe.actors.federation.remote_films import LIMITS
from troupe.actors.media import cleaning
from troupe.storage.accounts import Account, NewAccount
from troupe.storage.files import Folder

from ..clients import Reply, Stage
from ..outgoing.peer import Asked
from ..previews.site import Site
from ..rows import create_account
from ..waiting import until_found, until_none
from .uploading import film, picture

ATTACHMENT = """
    INSERT INTO media_attachments (id, account_id, status_id, type, remote_url, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, now(), now())
"""
STATUS = """
    INSERT INTO statuses (id, account_id, uri, local, visibility, content, conversation_id, media_ids, created_at)
    VALUES ($1, $2, $3, false, 'public', 'look', $1, ARRAY[$4::bigint], now())
"""
BLOCK = """
    INSERT INTO blocked_domains (id, domain, severity, reject_media, reject_reports, obfuscate, created_at)
    VALUES (1, 'site.test', $1, $2, false, false, now())
"""
BASE = "http://localhost:3000"


@pytest.fixture
def options() -> dict[str, Any]:
    return {"rate_limits": False, "test_hosts": ("site.test", "other.test")}


@pytest.fixture
async def una(stage: Stage) -> Account:
    """An account of another server."""
    context = stage.http_context
    uri = "http://site.test/users/una"
    new = NewAccount(context.ids.next(), "una", "site.test", uri, uri)
    return await context.database.transact(create_account, new, context.clock.now())


async def attached(stage: Stage, una: Account, url: str, type: str = "video") -> dict[str, Any]:
    """Store a post of una's with an attachment, and return that as everybody sees it."""
    next_id = stage.http_context.ids.next
    status, medium = next_id(), next_id()
    await stage.sql(STATUS, status, una.id, f"http://site.test/{status}", medium)
    await stage.sql(ATTACHMENT, medium, una.id, status, type, url)
    await stage.sql("INSERT INTO status_counts (status_id) VALUES ($1)", status)
    (shown,) = (await stage.anybody().get(f"/api/v1/statuses/{status}")).json["media_attachments"]
    assert shown["remote_url"] == url
    assert shown["url"].startswith(f"{BASE}/media_proxy/attachment/{medium}/")
    return shown


async def look(stage: Stage, address: str, **headers: str) -> Reply:
    return await stage.anybody().get(address.removeprefix(BASE), headers=headers)


def left_behind(folder: Folder) -> list[Path]:
    """Return the files of unfinished uploads."""
    return [path for path in (folder.root / "incoming").rglob("*") if path.is_file()]


async def test_a_film_is_fetched_when_it_is_first_looked_at(stage: Stage, una: Account, web: Site) -> None:
    data = film(sound=True)
    shown = await attached(stage, una, web.file("/film.mp4", data, "video/mp4"))
    assert web.asked("/film.mp4") == 0
    whole, part = await look(stage, shown["url"]), await look(stage, shown["url"], Range="bytes=4-11")
    still = await look(stage, shown["preview_url"])
    assert (whole.status, whole.headers["Content-Type"]) == (200, "video/mp4")
    assert b"secret" in data
    assert b"secret" not in whole.body, "it is not the file of the other server"
    assert (part.status, part.body) == (206, whole.body[4:12])
    assert part.headers["Content-Range"] == f"bytes 4-11/{len(whole.body)}"
    assert (still.status, still.headers["Content-Type"]) == (200, "image/webp")
    assert web.asked("/film.mp4") == 1
    ((made, size),) = await stage.rows("SELECT made, size FROM remote_files")
    assert (made, size) == ("film", len(whole.body) + len(still.body))


TAG = b"ID3\x04\0\0\0\0\x02\x0a" + bytes(266)  # as programs put it before sound of every format


@pytest.mark.parametrize(("type", "tag"), [("audio", b""), ("unknown", b""), ("audio", TAG)])
async def test_sound_is_made_an_mp3(stage: Stage, una: Account, web: Site, type: str, tag: bytes) -> None:
    url = web.file("/sound", tag + film(sound=True, pictures=False), "application/octet-stream")
    shown = await attached(stage, una, url, type)
    reply = await look(stage, shown["url"])
    assert (reply.status, reply.headers["Content-Type"], shown["preview_url"]) == (200, "audio/mpeg", None)


async def test_a_picture_that_is_not_called_one_is_shown(stage: Stage, una: Account, web: Site) -> None:
    shown = await attached(stage, una, web.file("/file", picture(), "application/octet-stream"), "unknown")
    assert (await look(stage, shown["url"])).headers["Content-Type"] == "image/png"


async def test_readers_at_the_same_time_fetch_a_film_once(stage: Stage, una: Account, web: Site) -> None:
    url = web.file("/film.mp4", film(sound=False), "video/mp4")
    addresses = [(await attached(stage, una, url))["url"] for _ in range(2)]  # in two posts
    replies: list[Reply] = []

    async def read(address: str) -> None:
        replies.append(await look(stage, address))

    async with trio.open_nursery() as nursery:
        for address in addresses * 3:
            nursery.start_soon(read, address)
    assert [reply.status for reply in replies] == [200] * 6
    assert web.asked("/film.mp4") == 1


async def test_a_film_is_fetched_also_when_its_reader_leaves(stage: Stage, una: Account, web: Site) -> None:
    shown = await attached(stage, una, web.file("/film.mp4", film(sound=False), "video/mp4"))
    held = web.hold("/film.mp4")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(look, stage, shown["url"])
        await web.was_asked("/film.mp4")
        nursery.cancel_scope.cancel()
    held.set()
    await until_found(lambda: stage.rows("SELECT FROM remote_files"))
    assert (await look(stage, shown["url"])).status == 200
    assert web.asked("/film.mp4") == 1


async def test_a_reader_is_told_to_come_again_if_a_film_takes_long(
    stage: Stage, una: Account, web: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_films, "READER_WAITS", 0.01)
    shown = await attached(stage, una, web.file("/film.mp4", film(sound=False), "video/mp4"))
    held = web.hold("/film.mp4")
    reply = await look(stage, shown["url"])
    assert (reply.status, reply.headers["Retry-After"]) == (503, "5")
    held.set()
    await until_found(lambda: stage.rows("SELECT FROM remote_files"))
    assert (await look(stage, shown["url"])).status == 200
    assert stage.failures == []


async def test_a_server_has_one_film_fetched_at_a_time(stage: Stage, una: Account, web: Site) -> None:
    names = [f"/film{number}.mp4" for number in range(3)]
    shown = [await attached(stage, una, web.file(name, film(sound=False), "video/mp4")) for name in names]
    held = {name: web.hold(name) for name in names}
    async with trio.open_nursery() as nursery:
        for one in shown:
            nursery.start_soon(look, stage, one["url"])
        while held:
            await until_found(lambda: asked_for(web, held))
            await trio.sleep(0.1)  # in which another one would be asked for
            (name,) = await asked_for(web, held)
            held.pop(name).set()
    assert [web.asked(name) for name in names] == [1, 1, 1]


async def asked_for(web: Site, held: Collection[str]) -> list[str]:
    return [name for name in held if web.asked(name)]


async def trickle(stream: trio.abc.Stream, asked: Asked) -> None:
    """Say nothing of the length, and send more than is allowed."""
    await stream.send_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + film(sound=False))
    for _ in range(64):
        await stream.send_all(bytes(65536))


async def stall(stream: trio.abc.Stream, asked: Asked) -> None:
    await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n" + film(sound=False))
    await trio.sleep_forever()


@pytest.mark.parametrize("respond", [trickle, stall])
async def test_a_film_that_is_too_large_or_too_slow_is_not_kept(
    stage: Stage, una: Account, web: Site, monkeypatch: pytest.MonkeyPatch, respond: Any
) -> None:
    monkeypatch.setattr(remote_films, "LIMITS", replace(LIMITS, body=1024 * 1024, seconds=0.5))
    web.answers["/film.mp4"] = respond
    shown = await attached(stage, una, web.url("/film.mp4"))
    for _ in range(2):
        assert (await look(stage, shown["url"])).status == 404
    assert web.asked("/film.mp4") == 1, "it is not asked for again soon"
    assert left_behind(stage.http_context.media.folder) == []


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (lambda: b"<script>alert(1)</script>" * 99, 200),
        (lambda: film(sound=False)[:400], 200),
        (lambda: b"#EXTM3U\nhttp://127.0.0.1/secret\n", 200),
        (lambda: film(sound=False), 404),
        (lambda: b"", 200),
    ],
    ids=["a page", "cut short", "a playlist", "missing", "empty"],
)
async def test_what_is_no_film_is_not_shown(
    stage: Stage, una: Account, web: Site, data: Callable[[], bytes], status: int
) -> None:
    shown = await attached(stage, una, web.file("/film.mp4", data(), "video/mp4", status))
    for _ in range(2):
        assert (await look(stage, shown["url"])).status == 404
    assert web.asked("/film.mp4") == 1
    assert left_behind(stage.http_context.media.folder) == []
    assert await stage.rows("SELECT FROM remote_files") == []


async def test_what_is_no_film_is_refused_at_its_first_bytes(
    stage: Stage, una: Account, web: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def endless(stream: trio.abc.Stream, asked: Asked) -> None:
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n" + b"<html>" * 99)
        await trio.sleep_forever()

    web.answers["/film.mp4"] = endless
    shown = await attached(stage, una, web.url("/film.mp4"))
    with trio.fail_after(10):
        assert (await look(stage, shown["url"])).status == 404


@pytest.mark.parametrize(("severity", "rejects_media"), [("suspend", False), ("silence", True)])
async def test_films_of_a_blocked_domain_are_out_of_reach(
    stage: Stage, una: Account, web: Site, severity: str, rejects_media: bool
) -> None:
    shown = await attached(stage, una, web.file("/film.mp4", film(sound=False), "video/mp4"))
    other = await attached(stage, una, web.file("/other.mp4", film(sound=True), "video/mp4"))
    assert (await look(stage, shown["url"])).status == 200
    await stage.sql(BLOCK, severity, rejects_media)
    await stage.http_context.blocks.reload()
    assert [(await look(stage, one["url"])).status for one in (shown, other)] == [404, 404]
    assert web.asked("/other.mp4") == 0


async def test_films_behind_a_redirect_to_a_blocked_server_are_out_of_reach(
    stage: Stage, una: Account, web: Site
) -> None:
    """Nor does a redirect to the blocked one help: each server on the way is checked."""
    web.file("/film.mp4", film(sound=False), "video/mp4")
    url = web.file("/moved.mp4", b"", "text/html", 302, Location=web.url("/film.mp4", "other.test"))
    shown = await attached(stage, una, url)
    block = BLOCK.replace("'site.test'", f"'{web.url('', 'other.test').removeprefix('http://')}'")
    await stage.sql(block, "noop", True)
    await stage.http_context.blocks.reload()
    assert (await look(stage, shown["url"])).status == 404
    assert (web.asked("/moved.mp4"), web.asked("/film.mp4")) == (1, 0)


async def test_a_full_disk_keeps_no_part_of_a_film(
    stage: Stage, una: Account, web: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = await attached(stage, una, web.file("/film.mp4", film(sound=False), "video/mp4"))
    folder = stage.http_context.media.folder

    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "publish", full)
        assert (await look(stage, shown["url"])).status == 503
    assert left_behind(folder) == []
    assert stage.failures == []
    assert (await look(stage, shown["url"])).status == 200, "it is fetched when there is room again"


async def test_films_share_the_budget_of_copies(
    stage: Stage, una: Account, web: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The room is looked at after each film: some hours of films may be more than the disk."""
    first = await attached(stage, una, web.file("/film.mp4", film(sound=False), "video/mp4"))
    second = await attached(stage, una, web.file("/other.mp4", film(sound=False), "video/mp4"))
    assert (await look(stage, first["url"])).status == 200
    ((size, name),) = await stage.rows("SELECT size, file FROM remote_files")
    await stage.sql("UPDATE remote_files SET used_at = now() - interval '2 days'")
    monkeypatch.setattr(cleaning, "BUDGET", size * 3 // 2)
    assert (await look(stage, second["url"])).status == 200
    assert await stage.rows("SELECT url FROM remote_files") == [[second["remote_url"]]]
    await until_none(lambda: stage.rows("SELECT FROM outbox"))
    assert stage.http_context.media.folder.store.size(name) is None
