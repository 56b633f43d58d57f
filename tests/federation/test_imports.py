"""Imports of accounts and posts that only other servers know: found, not found, away for a while, and after a crash."""

from __future__ import annotations

import io
from typing import Any

import pytest
import trio
from quart.datastructures import FileStorage

from troupe.actors.effects.imports import LOOKUPS
from troupe.actors.federation import discoveries, import_finder
from troupe.storage import server_blocks
from troupe.storage.blocked_domains import BlockedDomain

from ..clients import Person, Stage
from ..http.settling import Browser, form_token, signed_in
from ..waiting import until_none
from .finding import search
from .peer import ForeignServer

PAGE = "/settings/import"
REQUESTS = """
    SELECT a.username FROM accounts a WHERE
        EXISTS (SELECT FROM follows f WHERE f.account_id = $1 AND f.target_account_id = a.id)
        OR EXISTS (SELECT FROM follow_requests f WHERE f.account_id = $1 AND f.target_account_id = a.id)
    ORDER BY a.username
"""
LOOKUP = "SELECT FROM outbox WHERE kind = 'lookup'"
RUNNING = "SELECT FROM imports WHERE finished_at IS NULL"
UNTRIED = "SELECT FROM import_lines WHERE NOT done AND error IS NULL"
HOSTS = ("peer.test", "other.test", "third.test")


async def upload(stage: Stage, kind: str, text: str, **more: str) -> Browser:
    browser = await signed_in(stage)
    form = {"form_token": form_token(await browser.get(PAGE)), "kind": kind} | more
    answer = await browser.upload(PAGE, form, FileStorage(io.BytesIO(text.encode()), filename="a.csv", name="file"))
    assert answer.status == 302, answer.text
    return browser


async def failures(stage: Stage, browser: Browser) -> dict[str, str]:
    """Return the reasons by target, as the file of the newest import's failures has them."""
    ((id,),) = await stage.rows("SELECT max(id) FROM imports")
    lines = (await browser.get(f"/settings/imports/{id}/failures.csv")).text.splitlines()[1:]
    return {line.split(",")[0]: line.split(",")[-1] for line in lines}


async def followed(stage: Stage, person: Person) -> list[str]:
    return [name for (name,) in await stage.rows(REQUESTS, person.account.id)]


async def block(stage: Stage, domain: str) -> None:
    context = stage.http_context
    made = BlockedDomain(context.ids.next(), domain, "suspend", False, False, None, None, False, context.clock.now())
    await context.database.transact(server_blocks.insert, made)
    await context.blocks.reload()


async def try_again_now(stage: Stage) -> None:
    """Have the look-ups that wait be due."""
    await stage.sql("UPDATE outbox SET due_at = now() WHERE kind = 'lookup'")
    stage.outbox.wake(LOOKUPS)


async def test_two_hundred_follows_of_other_servers_are_brought_along(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    names = [f"u{number:03}" for number in range(200)]
    for number, name in enumerate(names):
        peer.person(name, HOSTS[number % 3], featured=None)
    lines = [f"{name}@{peer.domain_of(HOSTS[number % 3])},true" for number, name in enumerate(names)]
    with trio.fail_after(60):
        browser = await upload(stage, "following", "\n".join(["Account address,Show boosts", *lines]))
        await stage.until_gone(RUNNING)
    assert await followed(stage, ada) == names
    assert "200 of 200 lines, finished" in (await browser.get(PAGE)).text
    assert all(len(peer.asked(peer.url(f"/users/{name}", HOSTS[n % 3]))) == 1 for n, name in enumerate(names))


async def test_accounts_are_found_in_each_spelling_and_others_have_a_reason(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    for name in ("eve", "finn", "gus", "hana", "ivy"):
        peer.person(name)
    peer.serve(peer.url("/users/gone"), b"", status=410)
    peer.handle("gone", None, peer.url("/users/gone"))
    peer.serve(peer.webfinger_url(f"odd@{peer.domain}"), {"subject": "acct:odd"}, "application/jrd+json")
    await block(stage, peer.domain_of("third.test"))
    domain = peer.domain
    lines = [
        f"@Eve@{domain.upper()}", f"acct:finn@{domain}", peer.url("/users/gus"), f"http://{domain}/@hana",
        f"ivy@{domain}", f"nobody@{domain}", f"gone@{domain}", f"odd@{domain}",
        f"eve@{peer.domain_of('third.test')}", f"eve@{stage.http_context.settings.local_domain}", "10@127.0.0.1:1",
    ]  # fmt: skip
    browser = await upload(stage, "following", "\n".join(lines))
    await stage.until_gone(RUNNING)
    assert await followed(stage, ada) == ["eve", "finn", "gus", "hana", "ivy"]
    assert await failures(stage, browser) == {
        f"nobody@{domain}": "Its server does not know this account.",
        f"gone@{domain}": "Its server says that this account was deleted.",
        f"odd@{domain}": "The answer of its server can't be used.",
        f"eve@{peer.domain_of('third.test')}": "This server exchanges nothing with that server.",
        f"eve@{stage.http_context.settings.local_domain}": "There is no such account on this server.",
        "10@127.0.0.1:1": "This server exchanges nothing with that server.",
    }


@pytest.mark.parametrize("kind", ["blocks", "mutes", "lists", "bookmarks"])
async def test_the_other_kinds_are_looked_up_too(stage: Stage, ada: Person, peer: ForeignServer, kind: str) -> None:
    eve = peer.person("eve")
    note = peer.note(eve, "/users/eve/statuses/1", url=peer.url("/@eve/1"))
    page = f'<html><head><link rel="alternate" type="application/activity+json" href="{note["id"]}"></head></html>'
    peer.serve(peer.url("/@eve/1?lang=de"), page.encode(), "text/html")
    handle = f"eve@{peer.domain}"
    line = {
        "blocks": handle, "mutes": f"{handle},FALSE", "lists": f'"Tea, ""and"" cake",{handle}',
        "bookmarks": peer.url("/@eve/1?lang=de#top"),
    }[kind]  # fmt: skip
    await upload(stage, kind, line)
    await stage.until_gone(RUNNING)
    match kind:
        case "blocks":
            assert [one["acct"] for one in (await ada.get("/api/v1/blocks")).json] == [handle]
        case "mutes":
            assert [one["acct"] for one in (await ada.get("/api/v1/mutes")).json] == [handle]
            assert await stage.rows("SELECT hide_notifications FROM mutes") == [[False]]
        case "lists":
            (made,) = (await ada.get("/api/v1/lists")).json
            members = (await ada.get(f"/api/v1/lists/{made['id']}/accounts")).json
            assert (made["title"], [one["acct"] for one in members]) == ('Tea, "and" cake', [handle])
            assert await followed(stage, ada) == ["eve"]
        case _:
            assert [one["uri"] for one in (await ada.get("/api/v1/bookmarks")).json] == [note["id"]]


async def test_a_server_that_is_away_is_tried_again_and_then_reported(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    peer.person("eve")
    peer.person("finn")
    busy = peer.fail(peer.webfinger_url(f"eve@{peer.domain}"), 503)
    browser = await upload(stage, "following", f"finn@{peer.domain}\neve@{peer.domain}\n")
    await until_none(lambda: stage.rows(UNTRIED))
    assert await followed(stage, ada) == ["finn"]
    assert "1 of 2 lines, 1 waits for other servers" in (await browser.get(PAGE)).text
    ((id,),) = await stage.rows("SELECT id FROM imports")
    page = (await browser.get(f"/settings/imports/{id}")).text
    assert f"<strong>eve@{peer.domain}</strong>: Its server did not answer. It is tried again later." in page
    for tries in (2, 3):
        await try_again_now(stage)
        await stage.until_gone(f"{LOOKUP} AND attempts < $1", tries)
    await try_again_now(stage)
    await stage.until_gone(RUNNING)
    assert len(peer.asked(busy)) == 4
    assert await failures(stage, browser) == {f"eve@{peer.domain}": "Its server did not answer."}
    peer.person("eve")
    token = form_token(await browser.get(PAGE))
    assert (await browser.post(f"/settings/imports/{id}/retry", {"form_token": token})).status == 302
    await stage.until_gone(RUNNING)
    assert await followed(stage, ada) == ["eve", "finn"]


async def test_a_host_that_was_not_reached_is_asked_once_for_many_accounts(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    resolver = stage.http_context.federation.resolver
    find = resolver.require_account

    async def count(name: str, domain: str) -> Any:
        asked.append(name)
        return await find(name, domain)

    monkeypatch.setattr(resolver, "require_account", count)
    lines = [f"u{number}@third.test:1" for number in range(50)]
    await upload(stage, "following", "\n".join([*lines, "ada"]))
    await until_none(lambda: stage.rows(UNTRIED))
    assert len(asked) <= LOOKUPS.workers_per_group
    assert await stage.rows("SELECT DISTINCT error FROM import_lines WHERE waits") == [["Its server can't be reached."]]


async def test_no_server_is_asked_more_often_in_an_hour(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_finder, "MOST_IN_AN_HOUR", 3)
    for number in range(5):
        peer.person(f"u{number}")
    await upload(stage, "following", "".join(f"u{number}@{peer.domain}\n" for number in range(5)))
    await until_none(lambda: stage.rows("SELECT FROM import_lines HAVING count(*) FILTER (WHERE done) < 3"))
    late = f"{LOOKUP} AND due_at > now() + interval '50 minutes' AND attempts = 0"
    await until_none(lambda: stage.rows(f"SELECT WHERE (SELECT count(*) FROM ({late}) l) < 2"))
    assert len(await followed(stage, ada)) == 3


async def test_a_domain_with_too_many_new_accounts_is_left_alone_for_a_while(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discoveries, "ACCOUNTS", 2)
    for number in range(20):
        peer.person(f"u{number}")
    await upload(stage, "following", "".join(f"u{number}@{peer.domain}\n" for number in range(20)))
    late = f"{LOOKUP} AND due_at > now() + interval '4 minutes' AND attempts = 0"
    await until_none(lambda: stage.rows(f"SELECT WHERE (SELECT count(*) FROM ({late}) l) < 18"))
    await until_none(lambda: stage.rows("SELECT FROM import_lines HAVING count(*) FILTER (WHERE done) < 2"))
    assert len(await followed(stage, ada)) == 2
    assert (
        len([one for one in peer.peer.asked if one.path.startswith("/.well-known/")]) <= 2 + LOOKUPS.workers_per_group
    )


async def test_an_import_can_be_stopped(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    peer.person("eve")
    held = peer.hold(peer.webfinger_url(f"eve@{peer.domain}"))
    await ada.post("/api/v1/domain_blocks", {"domain": "bad.example"})
    browser = await upload(stage, "following", f"eve@{peer.domain}\n", overwrite="1")
    await peer.was_asked(peer.webfinger_url(f"eve@{peer.domain}"))
    ((id,),) = await stage.rows("SELECT id FROM imports")
    token = form_token(await browser.get(PAGE))
    assert (await browser.post(f"/settings/imports/{id}/stop", {"form_token": token})).status == 302
    held.set()
    await stage.until_gone("SELECT FROM outbox WHERE kind IN ('lookup', 'import')")
    assert await followed(stage, ada) == []
    assert await failures(stage, browser) == {f"eve@{peer.domain}": "You have stopped this import."}


async def test_overwriting_keeps_what_the_file_names_by_another_name(
    stage: Stage, ada: Person, bob: Person, peer: ForeignServer
) -> None:
    """An alias leads to the account that is followed already, and a server that is away delays nothing."""
    peer.person("eve")
    peer.person("finn")
    for name in ("eve", "finn"):
        (found,) = await search(ada, f"{name}@{peer.domain}")
        await ada.post(f"/api/v1/accounts/{found['id']}/mute")
    await ada.post(f"/api/v1/accounts/{bob.id}/mute")
    peer.handle("eve", "other.test", peer.url("/users/eve"), subject=f"eve@{peer.domain}")
    peer.fail(peer.webfinger_url(f"gus@{peer.domain}"), 503)
    await upload(stage, "mutes", f"eve@{peer.domain_of('other.test')}\ngus@{peer.domain}\n", overwrite="1")
    await until_none(lambda: stage.rows("SELECT FROM imports WHERE cleared_at IS NULL"))
    assert [one["acct"] for one in (await ada.get("/api/v1/mutes")).json] == [f"eve@{peer.domain}"]


async def test_overwriting_removes_nothing_while_no_server_answers(
    stage: Stage, ada: Person, bob: Person, peer: ForeignServer
) -> None:
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    peer.fail(peer.webfinger_url(f"gus@{peer.domain}"), 503)
    await upload(stage, "following", f"gus@{peer.domain}\n", overwrite="1")
    await until_none(lambda: stage.rows(UNTRIED))
    await stage.until_gone("SELECT FROM outbox WHERE kind = 'import'")
    assert await followed(stage, ada) == ["bob"]
