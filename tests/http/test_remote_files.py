"""Pictures of other servers: fetched once, decoded here, shown under addresses of this server."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import trio

from troupe.actors.cluster.others import Alone
from troupe.actors.federation import budgets, remote_files
from troupe.actors.federation.file_requests import HOPS
from troupe.actors.federation.remote_files import SECONDS
from troupe.actors.media import cleaning
from troupe.actors.media.cleaning import Cleaning
from troupe.storage.accounts import Account, NewAccount

from ..clients import Person, Reply, Stage
from ..previews.site import Site
from ..rows import create_account
from ..waiting import until_none
from .uploading import picture

ATTACHMENT = """
    INSERT INTO media_attachments (id, account_id, status_id, type, remote_url, created_at, updated_at)
    VALUES ($1, $2, $3, 'image', $4, now(), now())
"""
STATUS = """
    INSERT INTO statuses (id, account_id, uri, local, visibility, content, conversation_id, media_ids, created_at)
    VALUES ($1, $2, $3, false, 'public', 'look', $1, ARRAY[$4::bigint], now())
"""
EMOJI = """
    INSERT INTO custom_emojis (id, shortcode, domain, remote_url, created_at, updated_at)
    VALUES ($1, 'blob', 'site.test', $2, now(), now())
"""
STATUS_WITH_EMOJI = """
    INSERT INTO statuses (id, account_id, uri, local, visibility, content, conversation_id, emoji_ids, created_at)
    VALUES ($1, $2, $3, false, 'public', 'a :blob:', $1, ARRAY[$4::bigint], now())
"""
BLOCK = """
    INSERT INTO blocked_domains (id, domain, severity, reject_media, reject_reports, obfuscate, created_at)
    VALUES (1, 'site.test', $1, $2, false, false, now())
"""


@pytest.fixture
def options() -> dict[str, Any]:
    return {
        "rate_limits": False,
        "test_hosts": ("site.test", "moved.test", *(f"host{number}.moved.test" for number in range(8))),
    }


@pytest.fixture
async def una(stage: Stage, web: Site) -> Account:
    """An account of another server, with a picture there."""
    context = stage.http_context
    uri = "http://site.test/users/una"
    new = NewAccount(context.ids.next(), "una", "site.test", uri, uri)
    account = await context.database.transact(create_account, new, context.clock.now())
    url = web.file("/una.png", picture(), "image/png")
    await stage.sql("UPDATE accounts SET avatar_remote_url = $2, header_remote_url = $2 WHERE id = $1", new.id, url)
    return account


async def address_of(stage: Stage, account: Account, field: str = "avatar") -> str:
    return (
        (await stage.anybody().get(f"/api/v1/accounts/{account.id}")).json[field].removeprefix("http://localhost:3000")
    )


async def look(stage: Stage, address: str) -> Reply:
    return await stage.anybody().get(address)


async def test_a_picture_is_fetched_when_it_is_first_looked_at(stage: Stage, una: Account, web: Site) -> None:
    address = await address_of(stage, una)
    assert address.startswith(f"/media_proxy/avatar/{una.id}/")
    assert web.asked("/una.png") == 0
    first, second = await look(stage, address), await look(stage, address)
    assert (first.status, first.headers["Content-Type"]) == (200, "image/jpeg")
    assert first.body == second.body
    assert first.body != picture()  # it was decoded and made anew
    assert "immutable" in first.headers["Cache-Control"]
    assert "sandbox" in first.headers["Content-Security-Policy"]
    assert web.asked("/una.png") == 1


async def test_the_address_of_a_picture_is_read_as_browsers_read_it(stage: Stage, una: Account, web: Site) -> None:
    web.file("/my%20cat%5C1.png", picture(), "image/png")
    web.file("/old.png", b"", "text/html", 302, Location=web.url("/my cat\\1.png"))
    for path in ("/my cat\\1.png", "/old.png"):
        await stage.sql("UPDATE accounts SET avatar_remote_url = $2 WHERE id = $1", una.id, web.url(path))
        stage.http_context.accounts.drop(una.id)
        assert (await look(stage, await address_of(stage, una))).status == 200
    assert web.asked("/my%20cat%5C1.png") == 2


async def test_readers_at_the_same_time_fetch_a_picture_once(stage: Stage, una: Account, web: Site) -> None:
    address = await address_of(stage, una, "header")
    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(look, stage, address)
    assert web.asked("/una.png") == 1


async def attached(stage: Stage, author: Account, url: str, **columns: Any) -> int:
    """Store a status with an attachment, whose server has told no more than this. Return its id."""
    next_id = stage.http_context.ids.next
    status, medium = next_id(), next_id()
    await stage.sql(STATUS, status, author.id, f"http://site.test/{status}", medium)
    await stage.sql(ATTACHMENT, medium, author.id, status, url)
    await stage.sql("INSERT INTO status_counts (status_id) VALUES ($1)", status)
    for column, value in columns.items():
        await stage.sql(f"UPDATE media_attachments SET {column} = $2 WHERE id = $1", medium, value)
    return status


async def shown(person: Person, status: int) -> Any:
    (medium,) = (await person.get(f"/api/v1/statuses/{status}")).json["media_attachments"]
    return medium


@pytest.mark.parametrize("size", ["url", "preview_url"])
async def test_an_attachment_has_what_is_seen_of_its_file_once_it_is_here(
    stage: Stage, ada: Person, una: Account, web: Site, size: str
) -> None:
    """Some servers tell no blurhash and no size. A second attachment with the same file has them too."""
    url = web.file("/plain.png", picture(900, 700), "image/png")
    for _ in range(2):
        status = await attached(stage, una, url)
        before = await shown(ada, status)
        assert (before["blurhash"], before["meta"]) == (None, {})
        await look(stage, before[size].removeprefix("http://localhost:3000"))
        after = await shown(ada, status)
        assert 6 <= len(after["blurhash"]) <= 128
        original, small = after["meta"]["original"], after["meta"]["small"]
        assert (original["width"], original["height"], original["size"]) == (900, 700, "900x700")
        assert small["width"] < original["width"]
        assert (await ada.get(f"/api/v1/statuses/{status}")).json["edited_at"] is None
    assert web.asked("/plain.png") == 1


async def test_what_was_told_of_an_attachment_stays(stage: Stage, ada: Person, una: Account, web: Site) -> None:
    url = web.file("/told.png", picture(90, 70), "image/png")
    told = {"original": {"width": 9, "height": 7, "size": "9x7", "aspect": 9 / 7}, "focus": {"x": 0.5, "y": -0.5}}
    status = await attached(stage, una, url, blurhash="LEHV6nWB2yk8pyo0adR*.7kCMdnj", meta=told)
    await look(stage, (await shown(ada, status))["url"].removeprefix("http://localhost:3000"))
    after = await shown(ada, status)
    assert (after["blurhash"], after["meta"]) == ("LEHV6nWB2yk8pyo0adR*.7kCMdnj", told)
    only_size = await attached(stage, una, url, meta=told)
    await look(stage, (await shown(ada, only_size))["url"].removeprefix("http://localhost:3000"))
    after = await shown(ada, only_size)
    assert after["blurhash"] is not None
    assert (after["meta"]["original"], after["meta"]["focus"]) == (told["original"], told["focus"])


async def test_a_preview_gives_its_attachment_a_blurhash_and_no_size(
    stage: Stage, ada: Person, una: Account, web: Site
) -> None:
    still = web.file("/still.png", picture(90, 70), "image/png")
    status = await attached(stage, una, "http://site.test/film.mp4", type="video", thumbnail_remote_url=still)
    await look(stage, (await shown(ada, status))["preview_url"].removeprefix("http://localhost:3000"))
    after = await shown(ada, status)
    assert (after["blurhash"] is None, after["meta"]) == (False, {})


async def test_an_attachment_is_shown_in_both_sizes(stage: Stage, ada: Person, una: Account, web: Site) -> None:
    next_id = stage.http_context.ids.next
    status, medium = next_id(), next_id()
    url = web.file("/large.png", picture(900, 700), "image/png")
    await stage.sql(STATUS, status, una.id, f"http://site.test/{status}", medium)
    await stage.sql(ATTACHMENT, medium, una.id, status, url)
    await stage.sql("INSERT INTO status_counts (status_id) VALUES ($1)", status)
    (shown,) = (await ada.get(f"/api/v1/statuses/{status}")).json["media_attachments"]
    assert shown["remote_url"] == url
    original = await look(stage, shown["url"].removeprefix("http://localhost:3000"))
    small = await look(stage, shown["preview_url"].removeprefix("http://localhost:3000"))
    assert original.status == small.status == 200
    assert len(small.body) < len(original.body)
    assert web.asked("/large.png") == 1


@pytest.mark.parametrize(
    "change",
    [
        "/media_proxy/avatar/{id}/" + "0" * 32,
        "/media_proxy/header/1/{digest}",
        "/media_proxy/secret/{id}/{digest}",
        "/media_proxy/attachment/{id}/{digest}",
        "/media_proxy/avatar/99999999999999999999/{digest}",
    ],
)
async def test_an_address_that_nothing_shows_leads_nowhere(stage: Stage, una: Account, web: Site, change: str) -> None:
    digest = (await address_of(stage, una)).rpartition("/")[2]
    assert (await look(stage, change.format(id=una.id, digest=digest))).status == 404
    assert web.peer.asked == []


@pytest.mark.parametrize(
    ("data", "content_type", "status"),
    [
        (b"<script>alert(1)</script>", "image/png", 200),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml", 200),
        (picture()[:100], "image/png", 200),
        (picture(), "image/png", 404),
        (b"", "image/png", 200),
    ],
)
async def test_what_is_no_picture_is_not_shown_and_not_asked_for_again(
    stage: Stage, una: Account, web: Site, data: bytes, content_type: str, status: int
) -> None:
    web.file("/una.png", data, content_type, status)
    address = await address_of(stage, una)
    for _ in range(3):
        assert (await look(stage, address)).status == 404
    assert web.asked("/una.png") == 1


async def test_a_picture_at_a_private_address_is_not_fetched(stage: Stage, una: Account) -> None:
    await stage.sql("UPDATE accounts SET avatar_remote_url = 'https://127.0.0.1/x.png' WHERE id = $1", una.id)
    assert (await look(stage, await address_of(stage, una))).status == 404


async def test_pictures_of_a_suspended_account_are_out_of_reach(stage: Stage, una: Account) -> None:
    address = await address_of(stage, una)
    assert (await look(stage, address)).status == 200
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE id = $1", una.id)
    assert (await look(stage, address)).status == 404


@pytest.mark.parametrize(("severity", "rejects_media"), [("suspend", False), ("silence", True)])
async def test_pictures_of_a_blocked_domain_are_out_of_reach(
    stage: Stage, una: Account, severity: str, rejects_media: bool
) -> None:
    address = await address_of(stage, una)
    assert (await look(stage, address)).status == 200
    await stage.sql(BLOCK, severity, rejects_media)
    await stage.http_context.blocks.reload()
    assert (await look(stage, address)).status == 404


@pytest.mark.parametrize(("blocked", "status"), [("other.test", 200), ("moved.test", 404)])
async def test_a_redirect_to_a_blocked_domain_is_not_followed(
    stage: Stage, una: Account, web: Site, blocked: str, status: int
) -> None:
    await stage.sql(BLOCK.replace("site.test", blocked), "silence", True)
    await stage.http_context.blocks.reload()
    moved = web.url("/una.png", "moved.test")
    away = web.file("/away.png", b"", "text/html", 302, Location=moved)
    await stage.sql("UPDATE accounts SET avatar_remote_url = $2 WHERE id = $1", una.id, away)
    stage.http_context.accounts.clear()
    assert (await look(stage, await address_of(stage, una))).status == status
    assert web.asked("/away.png") == 1
    assert web.asked("/una.png") == (1 if status == 200 else 0)


async def test_a_slow_server_leaves_others_their_places(stage: Stage, una: Account, web: Site) -> None:
    """Anybody can have as many slow pictures shown as people look at."""
    context = stage.http_context
    web.hold("/slow.png")
    addresses: list[str] = []
    for number in range(budgets.OF_ONE_DOMAIN + 2):
        uri = f"http://moved.test/users/{number}"
        new = NewAccount(context.ids.next(), f"user{number}", "moved.test", uri, uri)
        account = await context.database.transact(create_account, new, context.clock.now())
        url = web.url("/slow.png", f"host{number}.moved.test")
        await stage.sql("UPDATE accounts SET avatar_remote_url = $2 WHERE id = $1", account.id, url)
        context.accounts.clear()
        addresses.append(await address_of(stage, account))
    async with trio.open_nursery() as nursery:
        for address in addresses:
            nursery.start_soon(look, stage, address)
        await web.was_asked("/slow.png", budgets.OF_ONE_DOMAIN)
        with trio.fail_after(SECONDS / 2):
            assert (await look(stage, await address_of(stage, una))).status == 200
        assert web.asked("/slow.png") == budgets.OF_ONE_DOMAIN
        web.hold("/slow.png").set()


async def test_pictures_of_one_domain_do_not_fill_the_queue(
    stage: Stage, una: Account, web: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_files, "WAITING_OF_ONE_DOMAIN", 1)
    web.hold("/una.png")
    first, second = await address_of(stage, una), await address_of(stage, una, "header")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(look, stage, first)
        await web.was_asked("/una.png")
        assert (await look(stage, second)).status == 404
        web.hold("/una.png").set()
    assert (await look(stage, second)).status == 200, "it was not remembered as missing"


async def test_pictures_that_lead_in_a_circle_are_left_alone(stage: Stage, una: Account, web: Site) -> None:
    circle = web.file("/circle.png", b"", "text/html", 302, Location="/circle.png")
    await stage.sql("UPDATE accounts SET avatar_remote_url = $2 WHERE id = $1", una.id, circle)
    stage.http_context.accounts.clear()
    assert (await look(stage, await address_of(stage, una))).status == 404
    assert web.asked("/circle.png") == HOPS + 1


async def test_copies_that_nobody_uses_are_removed(stage: Stage, una: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    address = await address_of(stage, una)
    await look(stage, address)
    context = stage.http_context
    cleaner = Cleaning(context.database, context.clock, context.record, stage.outbox, context.media.folder, Alone())
    await cleaner.clean()
    ((name,),) = await stage.rows("SELECT file FROM remote_files")
    await stage.sql("UPDATE remote_files SET used_at = now() - $1::interval", timedelta(days=31))
    await cleaner.clean()
    assert await stage.rows("SELECT FROM remote_files") == []
    await until_none(lambda: stage.rows("SELECT FROM outbox"))
    assert context.media.folder.store.size(name) is None
    assert (await look(stage, address)).status == 200  # fetched again


async def test_when_copies_take_too_much_room_the_oldest_go(
    stage: Stage, una: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = stage.http_context
    for field in ("avatar", "header"):
        await look(stage, await address_of(stage, una, field))
    await stage.sql("UPDATE remote_files SET used_at = now() - interval '2 days' WHERE made = 'header'")
    ((kept,),) = await stage.rows("SELECT size FROM remote_files WHERE made = 'avatar'")
    monkeypatch.setattr(cleaning, "BUDGET", kept)
    await Cleaning(context.database, context.clock, context.record, stage.outbox, context.media.folder, Alone()).clean()
    assert await stage.rows("SELECT made FROM remote_files") == [["avatar"]]


async def test_emoji_of_another_server_are_shown_with_their_pictures(
    stage: Stage, ada: Person, una: Account, web: Site
) -> None:
    next_id = stage.http_context.ids.next
    status, emoji = next_id(), next_id()
    url = web.file("/blob.png", picture(32, 32), "image/png")
    await stage.sql(EMOJI, emoji, url)
    await stage.sql(STATUS_WITH_EMOJI, status, una.id, f"http://site.test/{status}", emoji)
    await stage.sql("INSERT INTO status_counts (status_id) VALUES ($1)", status)
    await stage.sql("UPDATE accounts SET emoji_ids = ARRAY[$2::bigint] WHERE id = $1", una.id, emoji)
    shown = (await ada.get(f"/api/v1/statuses/{status}")).json
    for (one,) in (shown["emojis"], shown["account"]["emojis"]):
        assert (one["shortcode"], one["visible_in_picker"]) == ("blob", False)
        for name in ("url", "static_url"):
            assert (await look(stage, one[name].removeprefix("http://localhost:3000"))).status == 200
    assert (await ada.get("/api/v1/custom_emojis")).json == []  # those of this server alone
