"""Export and import: the files of Mastodon, there and back; what fails; what overwriting removes; limits."""

import io
import threading
from typing import Any

import pytest
import trio
import trio.lowlevel
from quart.datastructures import FileStorage

from troupe.actors.commands import imports as commands
from troupe.actors.rules import imports as rules
from troupe.http.settings import exports
from troupe.http.settings import imports as pages

from ..clients import BASE, Client, Person, Reply, Stage
from .settling import SIGN_IN, Browser, form_token, is_signed_out, signed_in

PAGE = "/settings/import"
FOLLOWING = "/settings/exports/following_accounts.csv"
HEADING = "Account address,Show boosts,Notify on new posts,Languages\n"


async def upload(browser: Browser, kind: str, text: str | bytes, **more: str) -> Reply:
    content = text.encode() if isinstance(text, str) else text
    form = {"form_token": form_token(await browser.get(PAGE)), "kind": kind} | more
    return await browser.upload(PAGE, form, FileStorage(io.BytesIO(content), filename="a.csv", name="file"))


async def imported(stage: Stage, browser: Browser, kind: str, text: str, **more: str) -> str:
    """Import a file and return the page of failures, when all lines are carried out."""
    answer = await upload(browser, kind, text, **more)
    assert (answer.status, answer.headers.get("Location")) == (302, PAGE), answer.text
    await stage.until_gone("SELECT FROM imports WHERE finished_at IS NULL")
    ((id,),) = await stage.rows("SELECT max(id) FROM imports")
    return (await browser.get(f"/settings/imports/{id}")).text


async def test_bookmarks_may_name_posts_of_this_server_by_any_address(stage: Stage, ada: Person, bob: Person) -> None:
    browser = await signed_in(stage)
    ids = [(await bob.publish(f"post {number}"))["id"] for number in range(3)]
    kept, private = ids[0], (await bob.publish("hello", visibility="private"))["id"]
    await ada.post(f"/api/v1/statuses/{kept}/bookmark")
    (before,) = await stage.rows("SELECT created_at FROM bookmarks")
    lines = [f"{BASE}/@bob/{kept}/", f"{BASE.upper()}/@BOB/{ids[1]}?utm_source=mail", f"{BASE}/web/statuses/{ids[2]}"]
    wrong = [f"{BASE}/@bob/{private}", f"{BASE}/@ada/{kept}"]
    failures = await imported(stage, browser, "bookmarks", "\n".join(lines + wrong), overwrite="true")
    assert all(line not in failures for line in lines)
    assert failures.count("This post is not known here") == 2
    assert sorted(one["id"] for one in (await ada.get("/api/v1/bookmarks")).json) == sorted(ids)
    # Its line names it, so that it is not surplus.
    kept_row = await stage.rows("SELECT created_at FROM bookmarks WHERE status_id = $1", int(kept))
    assert kept_row == [before]


async def following(client: Client, id: str) -> list[str]:
    return sorted(one["username"] for one in (await client.get(f"/api/v1/accounts/{id}/following")).json)


async def test_follows_travel_with_their_terms(stage: Stage, ada: Person, bob: Person) -> None:
    await ada.post(f"/api/v1/accounts/{bob.id}/follow", {"reblogs": "false", "notify": "true", "languages[]": "de"})
    browser = await signed_in(stage)
    file = await browser.get(FOLLOWING)
    assert file.text == HEADING + "bob@localhost:3000,false,true,de\n"
    assert file.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert file.headers["Content-Disposition"] == 'attachment; filename="following_accounts.csv"'
    await ada.post(f"/api/v1/accounts/{bob.id}/unfollow")
    assert "No line" in await imported(stage, browser, "following", file.text)
    (relation,) = (await ada.get(f"/api/v1/accounts/relationships?id[]={bob.id}")).json
    assert (relation["following"], relation["showing_reblogs"], relation["notifying"]) == (True, False, True)
    assert relation["languages"] == ["de"]


async def test_each_file_comes_back_as_it_was(stage: Stage, ada: Person, bob: Person) -> None:
    carl = await stage.person("carl")
    post = (await bob.publish("hello"))["id"]
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    (made,) = [await ada.post("/api/v1/lists", {"title": 'Tea, "and" cake'})]
    await ada.post(f"/api/v1/lists/{made.json['id']}/accounts", {"account_ids[]": bob.id})
    await ada.post(f"/api/v1/accounts/{carl.id}/block")
    await ada.post(f"/api/v1/accounts/{bob.id}/mute", {"notifications": "false"})
    await ada.post("/api/v1/domain_blocks", {"domain": "bad.example"})
    await ada.post(f"/api/v1/statuses/{post}/bookmark")
    browser = await signed_in(stage)
    before = {name: (await browser.get(f"/settings/exports/{name}")).text for name in exports.FILES}
    assert before["lists.csv"] == '"Tea, ""and"" cake",bob@localhost:3000\n'
    assert before["blocked_accounts.csv"] == "carl@localhost:3000\n"
    assert before["muted_accounts.csv"] == "Account address,Hide notifications\nbob@localhost:3000,false\n"
    assert before["blocked_domains.csv"] == "bad.example\n"
    for table in ("follows", "lists", "blocks", "mutes", "account_domain_blocks", "bookmarks"):
        await stage.sql(f"DELETE FROM {table} WHERE account_id = $1", ada.account.id)
    await stage.sql("UPDATE account_counts SET following = 0, followers = 0")
    for name, file in exports.FILES.items():
        assert "No line" in await imported(stage, browser, file.kind, before[name]), name
    assert {name: (await browser.get(f"/settings/exports/{name}")).text for name in exports.FILES} == before


async def test_a_long_file_is_read_in_parts(stage: Stage, ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "ROWS_AT_ONCE", 2)
    for number in range(5):
        await ada.post("/api/v1/domain_blocks", {"domain": f"bad{number}.example"})
    file = await (await signed_in(stage)).get("/settings/exports/blocked_domains.csv")
    assert file.text.splitlines() == [f"bad{number}.example" for number in range(5)]


async def test_a_file_is_read_beside_the_loop(stage: Stage, ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest one takes longer than others should wait."""
    on_the_loop: list[bool] = []

    def read(*given: Any) -> Any:
        on_the_loop.append(threading.current_thread() is threading.main_thread())
        return rules.lines_of(*given)

    monkeypatch.setattr(pages, "lines_of", read)
    assert "No line" in await imported(stage, await signed_in(stage), "domain_blocks", "bad.example\n")
    assert on_the_loop == [False]


async def test_lines_that_fail_are_reported(stage: Stage, ada: Person, bob: Person) -> None:
    browser = await signed_in(stage)
    page = await imported(
        stage, browser, "following", f"{HEADING}nobody@localhost:3000\nBOB,true\n{BASE}/@nobody/\nada\n<b>\n"
    )
    for text in (
        "Line 2, <strong>nobody</strong>: There is no such account on this server.",
        "Line 4, <strong>nobody</strong>: There is no such account on this server.",
        "Line 5, <strong>ada</strong>: Following your own account is not allowed",
        "Line 6, <strong>&lt;b&gt;</strong>: This is not the address of an account.",
    ):
        assert text in page
    assert "Line 3" not in page
    assert await following(ada, ada.id) == ["bob"]
    assert "5 of 5 lines, finished" in (await browser.get(PAGE)).text
    assert "4 failed" in (await browser.get(PAGE)).text


async def test_merging_keeps_and_overwriting_removes(stage: Stage, ada: Person, bob: Person) -> None:
    await stage.person("carl")
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    browser = await signed_in(stage)
    await imported(stage, browser, "following", "carl\n")
    assert await following(ada, ada.id) == ["bob", "carl"]
    await imported(stage, browser, "following", "carl\n", overwrite="1")
    assert await following(ada, ada.id) == ["carl"]


@pytest.mark.parametrize("kind", ["blocks", "mutes", "lists", "bookmarks", "domain_blocks"])
async def test_overwriting_removes_of_each_kind(stage: Stage, ada: Person, bob: Person, kind: str) -> None:
    post = (await bob.publish("hello"))["id"]
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    made = (await ada.post("/api/v1/lists", {"title": "mine"})).json["id"]
    await ada.post(f"/api/v1/lists/{made}/accounts", {"account_ids[]": bob.id})
    await ada.post(f"/api/v1/statuses/{post}/bookmark")
    await ada.post("/api/v1/domain_blocks", {"domain": "bad.example"})
    await ada.post(f"/api/v1/accounts/{bob.id}/mute")
    if kind == "blocks":
        await ada.post(f"/api/v1/accounts/{bob.id}/block")
    carl = await stage.person("carl")
    column, other = {
        "blocks": ("target_account_id", int(carl.id)),
        "mutes": ("target_account_id", int(carl.id)),
        "lists": ("title", "other"),
        "bookmarks": ("status_id", int((await carl.publish("hello"))["id"])),
        "domain_blocks": ("domain", "x.example"),
    }[kind]
    line = {"lists": "other,carl\n", "bookmarks": f"{BASE}/@carl/{other}\n", "domain_blocks": "x.example\n"}
    await imported(stage, await signed_in(stage), kind, line.get(kind, "carl\n"), overwrite="1")
    table = {"domain_blocks": "account_domain_blocks"}.get(kind, kind)
    left = await stage.rows(f"SELECT {column} FROM {table} WHERE account_id = $1", ada.account.id)
    assert left == [[other]]


@pytest.mark.parametrize(
    ("kind", "file"),
    [
        ("following", "nobody\n<b>\n"),
        ("following", "<!DOCTYPE html><title>Sign in</title>"),
        ("following", "Hide notifications;Account address\nfalse;carl@localhost:3000\n"),
        ("following", "Account address\n\n"),
        ("lists", "Friends,nobody\n"),
        ("bookmarks", f"{BASE}/@bob/1\n"),
        ("domain_blocks", "localhost:3000\nbob@home.example\n"),
    ],
)
async def test_overwriting_removes_nothing_if_no_line_has_an_effect(
    stage: Stage, ada: Person, bob: Person, kind: str, file: str
) -> None:
    await stage.person("carl")
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    made = (await ada.post("/api/v1/lists", {"title": "mine"})).json["id"]
    await ada.post(f"/api/v1/lists/{made}/accounts", {"account_ids[]": bob.id})
    await ada.post(f"/api/v1/statuses/{(await bob.publish('hello'))['id']}/bookmark")
    await ada.post("/api/v1/domain_blocks", {"domain": "bad.example"})
    browser = await signed_in(stage)
    await upload(browser, kind, file, overwrite="1")
    await stage.until_gone("SELECT FROM imports WHERE finished_at IS NULL")
    files = {name: (await browser.get(f"/settings/exports/{name}")).text for name in exports.FILES}
    assert files["following_accounts.csv"].count("bob@") == 1
    assert files["lists.csv"] == "mine,bob@localhost:3000\n"
    assert files["bookmarks.csv"].count("/bob/") == 1
    assert files["blocked_domains.csv"] == "bad.example\n"


async def test_follows_that_are_uploaded_as_blocks_block_nobody(stage: Stage, ada: Person, bob: Person) -> None:
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    browser = await signed_in(stage)
    file = (await browser.get(FOLLOWING)).text
    answer = await upload(browser, "blocks", file)
    assert (answer.status, "This is a file of follows, and you chose blocked accounts." in answer.text) == (422, True)
    assert await following(ada, ada.id) == ["bob"]


async def test_the_members_of_lists_are_followed(stage: Stage, ada: Person, bob: Person) -> None:
    carl = await stage.person("carl")
    await carl.change_profile(locked=True)
    browser = await signed_in(stage)
    assert "No line" in await imported(stage, browser, "lists", "Tea,bob\nTea,carl@localhost:3000\nTea,ada\n")
    assert await following(ada, ada.id) == ["bob"]
    assert [one["username"] for one in (await carl.get("/api/v1/follow_requests")).json] == ["ada"]
    await carl.post(f"/api/v1/follow_requests/{ada.id}/authorize")
    file = (await browser.get("/settings/exports/lists.csv")).text
    assert sorted(file.splitlines()) == [f"Tea,{name}@localhost:3000" for name in ("ada", "bob", "carl")]


async def test_files_of_two_kinds_are_imported_side_by_side(
    stage: Stage, ada: Person, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, gate = await signed_in(stage), trio.Event()
    carry_out = commands.CARRYING_OUT["blocks"]

    async def wait(*given: Any) -> Any:
        await gate.wait()
        return await carry_out(*given)

    monkeypatch.setitem(commands.CARRYING_OUT, "blocks", wait)
    assert (await upload(browser, "blocks", "bob\n")).status == 302
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_open_soon, gate)
        assert (await upload(browser, "domain_blocks", "bad.example\n")).status == 302
    await stage.until_gone("SELECT FROM imports WHERE finished_at IS NULL")
    assert (await ada.get("/api/v1/domain_blocks")).json == ["bad.example"]
    assert [one["username"] for one in (await ada.get("/api/v1/blocks")).json] == ["bob"]


async def test_why_an_account_can_not_be_followed_is_told(stage: Stage, ada: Person, bob: Person) -> None:
    await bob.post(f"/api/v1/accounts/{ada.id}/block")
    for kind, file in (("following", "bob\n"), ("lists", "Tea,bob\n")):
        page = await imported(stage, await signed_in(stage), kind, file)
        assert "You can&#39;t follow this account: it has moved, or one of you has blocked the other." in page, kind


async def test_what_failed_is_tried_again(stage: Stage, ada: Person, bob: Person) -> None:
    browser = await signed_in(stage)
    page = await imported(stage, browser, "following", f"{HEADING}carl,false\nbob\ndora\n")
    assert "Line 2, <strong>carl</strong>" in page
    await stage.person("carl")
    ((id,),) = await stage.rows("SELECT id FROM imports")
    token = form_token(await browser.get(PAGE))
    assert (await browser.post(f"/settings/imports/{id}/retry", {"form_token": token})).status == 302
    await stage.until_gone("SELECT FROM imports WHERE finished_at IS NULL")
    assert await following(ada, ada.id) == ["bob", "carl"]
    assert "1 failed" in (await browser.get(PAGE)).text


LOST = {
    "following": (
        'Account address,Show boosts,Notify on new posts,Languages\n"nobody","no","yes","de, en"\n',
        'Account address,Show boosts,Notify on new posts,Languages,Reason\nnobody@localhost:3000,false,true,"de, en",',
    ),
    "lists": ('"a, ""b""",nobody\n', 'List name,Account address,Reason\n"a, ""b""",nobody@localhost:3000,'),
    "blocks": ("nobody\n", "Account address,Reason\nnobody@localhost:3000,"),
    "mutes": ("nobody,0\n", "Account address,Hide notifications,Reason\nnobody@localhost:3000,false,"),
    "bookmarks": (f"{BASE}/@nobody/1\n", f"#uri,Reason\n{BASE}/@nobody/1,"),
}


@pytest.mark.parametrize("kind", LOST)
async def test_what_failed_can_be_taken_along_and_imported_again(stage: Stage, ada: Person, kind: str) -> None:
    written, lost = LOST[kind]
    browser = await signed_in(stage)
    await imported(stage, browser, kind, written)
    ((id,),) = await stage.rows("SELECT id FROM imports")
    file = await browser.get(f"/settings/imports/{id}/failures.csv")
    assert file.text.startswith(lost)
    assert file.headers["Content-Disposition"] == f'attachment; filename="{kind}_not_imported.csv"'
    await imported(stage, browser, kind, file.text)
    lines = "SELECT target, options FROM import_lines WHERE error IS NOT NULL AND import_id {} $1"
    again = await stage.rows(lines.format("<>"), id)
    assert again == await stage.rows(lines.format("="), id)
    assert again


async def test_only_the_user_who_has_uploaded_a_file_can_act_on_its_import(
    stage: Stage, ada: Person, bob: Person
) -> None:
    browser = await signed_in(stage)
    await imported(stage, browser, "blocks", "nobody\n")
    ((id,),) = await stage.rows("SELECT id FROM imports")
    other = await signed_in(stage, "bob")
    token = form_token(await other.get(PAGE))
    assert (await other.get(f"/settings/imports/{id}/failures.csv")).status == 404
    await other.post(f"/settings/imports/{id}/retry", {"form_token": token})
    await other.post(f"/settings/imports/{id}/stop", {"form_token": token})
    foreign = form_token(await Browser(stage).get(SIGN_IN))
    for act in ("retry", "stop"):
        assert (await browser.post(f"/settings/imports/{id}/{act}", {"form_token": foreign})).status == 403
    assert await stage.rows("SELECT error FROM import_lines") == [["There is no such account on this server."]]


async def test_a_second_import_waits_until_the_first_is_done(
    stage: Stage, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, gate = await signed_in(stage), trio.Event()

    async def wait(*_: object) -> str:
        await gate.wait()
        return "waited"

    monkeypatch.setitem(commands.CARRYING_OUT, "blocks", wait)
    async with trio.open_nursery() as nursery:
        assert (await upload(browser, "blocks", "bob\n")).status == 302
        nursery.start_soon(_open_soon, gate)
        answer = await upload(browser, "blocks", "bob\n")
        assert (answer.status, "Another import of this kind is not finished yet" in answer.text) in (
            (422, True),
            (302, False),
        )


async def _open_soon(gate: trio.Event) -> None:
    await trio.lowlevel.checkpoint()
    gate.set()


@pytest.mark.parametrize(
    ("kind", "content", "problem"),
    [
        ("following", b"", "The file has no lines."),
        ("following", HEADING.encode(), "The file has no lines."),
        ("following", b"\xff\xfe\x00", "This is not a CSV file in UTF-8."),
        ("following", b"bob\n" * (rules.MOST_LINES + 2), "The file has more than 20000 lines."),
        ("following", b"#\n" * rules.MOST_EMPTY + b"#\nbob\n", "The file has more than 20000 lines."),
        ("following", b"x" * (rules.LONGEST_TARGET + 1), "Line 1 is too long"),
        ("following", b"a\0b\n", "is"),
        ("lists", b",bob\n", "The name of a list is missing"),
        ("blocks", b"x" * (rules.LARGEST_FILE + 1), "The file is too large."),
    ],
)
async def test_a_file_that_cannot_be_imported_says_why(
    stage: Stage, ada: Person, kind: str, content: bytes, problem: str
) -> None:
    answer = await upload(await signed_in(stage), kind, content)
    assert (answer.status, problem in answer.text) == (422, True), answer.text
    assert await stage.rows("SELECT FROM imports") == []


async def test_the_names_of_lists_are_tidied_as_in_the_api(stage: Stage, ada: Person, bob: Person) -> None:
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    page = await imported(stage, await signed_in(stage), "lists", '"a\0 list\x07\nof mine",bob\n')
    assert "No line" in page
    assert [one["title"] for one in (await ada.get("/api/v1/lists")).json] == ["a list of mine"]


async def test_a_body_above_the_limit_is_refused(stage: Stage, ada: Person) -> None:
    answer = await upload(await signed_in(stage), "blocks", b"x" * (rules.LARGEST_FILE + 200_000))
    assert answer.status == 413


async def test_the_imports_of_another_user_are_not_shown(stage: Stage, ada: Person, bob: Person) -> None:
    await imported(stage, await signed_in(stage), "blocks", "nobody\n")
    ((id,),) = await stage.rows("SELECT id FROM imports")
    browser = await signed_in(stage, "bob")
    assert "nobody" not in (await browser.get(f"/settings/imports/{id}")).text
    assert "Earlier imports" not in (await browser.get(PAGE)).text


async def test_files_are_for_their_owner_alone(stage: Stage, ada: Person, bob: Person) -> None:
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    assert is_signed_out(await Browser(stage).get(FOLLOWING))
    assert "bob" not in (await (await signed_in(stage, "bob")).get(FOLLOWING)).text
    assert (await (await signed_in(stage)).get("/settings/exports/users.csv")).status == 404


async def test_a_form_of_another_site_imports_nothing(stage: Stage, ada: Person) -> None:
    browser = await signed_in(stage)
    form = {"form_token": form_token(await Browser(stage).get(SIGN_IN)), "kind": "blocks"}
    file = FileStorage(io.BytesIO(b"bob\n"), filename="a.csv", name="file")
    assert (await browser.upload(PAGE, form, file)).status == 403
    assert await stage.rows("SELECT FROM imports") == []
