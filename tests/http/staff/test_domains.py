"""Blocked domains on the pages for staff, with lists in and out; and custom emoji."""

import io
import re
from html import unescape
from typing import Any

import pytest
import trio
from quart.datastructures import FileStorage

from troupe.actors import blocklists
from troupe.actors.blocklists import read_list
from troupe.actors.commands.blocked_domains import ListedBlock
from troupe.storage import server_blocks
from troupe.storage.blocked_domains import BlockedDomain
from troupe.storage.engine.database import Connection, Unavailable

from ...clients import PASSWORD, Reply, Stage
from ..settling import Browser, form_token
from ..uploading import picture
from .members import log, member

PATH = "/admin/domains"
LIST = "#domain,#severity,#public_comment\nbad.example,suspend,<b>spam</b>\nloud.example,silence,\n"


async def domains(stage: Stage) -> list[list[object]]:
    return await stage.rows("SELECT domain, severity FROM blocked_domains ORDER BY domain")


async def send_list(browser: Browser, text: str) -> str:
    """Send a file. Return the page that follows."""
    form = {"form_token": form_token(await browser.get(PATH))}
    file = FileStorage(io.BytesIO(text.encode()), "list.csv", content_type="text/csv")
    return (await browser.upload(f"{PATH}/import", form, file)).text


async def test_a_domain_is_blocked_changed_and_unblocked(stage: Stage) -> None:
    admin = await member(stage, "admin")
    await admin.send(PATH, domain="LOUD.example", reject_media="true", private_comment="<i>noisy</i>")
    assert await domains(stage) == [["loud.example", "silence"]]
    page = (await admin.get(PATH)).text
    assert "&lt;i&gt;noisy&lt;/i&gt;" in page
    (one,) = re.findall(rf'href="({PATH}/\d+)"', page)
    asked = await admin.send(one, severity="suspend")
    assert "password" in asked.text
    assert await domains(stage) == [["loud.example", "silence"]]
    await admin.send(one, severity="suspend", password=PASSWORD)
    assert await stage.rows("SELECT severity, reject_media FROM blocked_domains") == [["suspend", False]]
    await admin.send(f"{one}/unblock", one)
    assert await domains(stage) == []
    assert [act for _, act, _ in await log(stage)] == ["block_domain", "change_domain_block", "unblock_domain"]


@pytest.mark.parametrize("domain", ["", "no domain", "localhost:3000", "<script>"])
async def test_what_is_no_other_domain_is_refused(stage: Stage, domain: str) -> None:
    admin = await member(stage, "admin")
    page = await admin.send(PATH, domain=domain)
    assert page.status == 422
    assert "<script>" not in page.text.replace("<script src=", "")
    assert await domains(stage) == []


async def confirm(browser: Browser, asked: str) -> Reply:
    """Send the form of the page that asks for the password."""
    fields = dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', asked))
    form = {name: unescape(value) for name, value in fields.items()}
    return await browser.post(f"{PATH}/import", form | {"password": PASSWORD})


async def test_a_list_that_fails_at_one_domain_blocks_none(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    admin, store = await member(stage, "admin"), server_blocks.insert

    async def insert(db: Connection, block: BlockedDomain) -> bool:
        if block.domain == "loud.example":
            raise Unavailable("PostgreSQL stops")
        return await store(db, block)

    asked = await send_list(admin, LIST)
    with monkeypatch.context() as patch:
        patch.setattr(server_blocks, "insert", insert)
        assert (await confirm(admin, asked)).status == 503
    assert (await domains(stage), await log(stage)) == ([], [])
    assert (await confirm(admin, asked)).status == 302
    assert len(await domains(stage)) == len(await log(stage)) == 2


async def test_a_list_comes_in_after_it_was_shown_and_goes_out(stage: Stage) -> None:
    admin = await member(stage, "admin")
    asked = await send_list(admin, LIST)
    assert "bad.example (suspend), loud.example (silence)" in asked
    assert await domains(stage) == []
    answer = await confirm(admin, asked)
    assert answer.headers["Location"] == f"{PATH}?done=imported"
    assert await domains(stage) == [["bad.example", "suspend"], ["loud.example", "silence"]]
    exported = await admin.get("/admin/domains.csv")
    assert exported.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert exported.text.splitlines()[1:] == [
        "bad.example,suspend,false,false,<b>spam</b>,false",
        "loud.example,silence,false,false,,false",
    ]
    assert "no domain that is not blocked already" in await send_list(admin, exported.text)
    assert [act for _, act, _ in await log(stage)] == ["block_domain"] * 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "Choose a file."),
        ("#domain,#severity\nx.example,loud\n", "Line 2: &#39;loud&#39; is not a severity."),
        ("#severity,#domain\nsilence\n", "Line 2: &#39;&#39; is not a domain.\nNo domain was blocked."),
        ("#domain,#public_comment\nx.example,a\0b\n", "Line 2: the comment has a NUL character."),
        ("not a domain\n", "Line 1: &#39;not a domain&#39; is not a domain.\nNo domain was blocked."),
        ("<!DOCTYPE html><p>x.example", "The file is a web page, not a list of domains. No domain was blocked."),
        ("x" * 100_000, f"Line 1: &#39;{'x' * 100}&#39; is not a domain."),
        ("".join(f"d{number}.example\n" for number in range(501)), "More than 500 domains are new."),
    ],
)
async def test_a_list_that_can_not_be_used_is_refused(
    stage: Stage, text: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def apart(text: str) -> list[ListedBlock]:
        assert not trio.lowlevel.in_trio_task()  # all other requests would wait for a long list
        return read_list(text)

    monkeypatch.setattr(blocklists, "read_list", apart)
    admin = await member(stage, "admin")
    assert problem in await send_list(admin, text)
    assert await domains(stage) == []


class TestOwnDomain:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": False, "domain": "social.example"}

    async def test_a_list_with_the_domain_of_this_server_blocks_the_others(self, stage: Stage) -> None:
        admin = await member(stage, "admin")
        asked = await send_list(admin, "https://Social.example/\nbad.example\n")
        assert "bad.example (suspend). social.example is left out: it is the domain of this server." in asked
        await confirm(admin, asked)
        assert await domains(stage) == [["bad.example", "suspend"]]

    async def test_a_server_does_not_block_itself(self, stage: Stage) -> None:
        admin = await member(stage, "admin")
        for path in (PATH, "/admin/allowed_domains"):
            page = await admin.send(path, domain="*.SOCIAL.example")
            assert (page.status, "Domain is that of this server." in page.text) == (422, True)
        assert await domains(stage) == []


async def test_emoji_are_uploaded_disabled_and_removed(stage: Stage) -> None:
    admin, path = await member(stage, "admin"), "/admin/emoji"
    token = form_token(await admin.get(path))
    file = FileStorage(io.BytesIO(picture()), "cat.png", content_type="image/png")
    form = {"form_token": token, "shortcode": "cat", "category": "<b>pets</b>"}
    answer = await admin.upload_as("image", path, form, file)
    assert answer.headers["Location"] == f"{path}?done=added", answer.text
    page = (await admin.get(path)).text
    assert ":cat:" in page
    assert "&lt;b&gt;pets&lt;/b&gt;" in page
    (id,) = set(re.findall(rf"{path}/(\d+)/", page))
    await admin.send(f"{path}/{id}/change", path, category="animals", visible_in_picker="true")
    changed = "SELECT category, visible_in_picker FROM custom_emojis"
    assert await stage.rows(changed) == [["animals", True]]
    other = FileStorage(io.BytesIO(picture()), "dog.png", content_type="image/png")
    files = await stage.rows("SELECT file FROM custom_emojis")
    answer = await admin.upload_as("image", f"{path}/{id}/change", {"form_token": token}, other)
    assert answer.headers["Location"] == f"{path}?done=changed", answer.text
    assert await stage.rows(changed) == [["animals", False]]
    assert await stage.rows("SELECT file FROM custom_emojis") != files
    refused = await admin.send(f"{path}/{id}/change", path, category="x" * 101)
    assert (refused.status, "Category must have at most" in refused.text) == (422, True)
    assert (await admin.send(f"{path}/103/change", path)).status == 404
    await admin.send(f"{path}/{id}/able", path, disabled="true")
    assert (await stage.anybody().get("/api/v1/custom_emojis")).json == []
    await admin.send(f"{path}/{id}/able", path, disabled="false")
    assert [one["shortcode"] for one in (await stage.anybody().get("/api/v1/custom_emojis")).json] == ["cat"]
    assert (await admin.send(f"{path}/{id}/remove", path)).status == 200
    await admin.send(f"{path}/{id}/remove", path, password=PASSWORD)
    assert (await stage.anybody().get("/api/v1/custom_emojis")).json == []


async def test_an_emoji_that_can_not_be_is_refused(stage: Stage) -> None:
    admin, path = await member(stage, "admin"), "/admin/emoji"
    for form, problem in (({"shortcode": "a b"}, "Shortcode must have"), ({"shortcode": "cat"}, "Image can&#39;t be")):
        page = await admin.send(path, **form)
        assert page.status == 422
        assert problem in page.text
