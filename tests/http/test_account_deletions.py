"""Deleting an account: what it asks for, what ends at once, what goes afterwards, and what stays."""

import pytest

from troupe.actors.commands import account_deletions
from troupe.actors.effects.imports import ImportSome
from troupe.actors.kernel import Address, Origin
from troupe.storage import registration

from ..clients import PASSWORD, Person, Stage
from .settling import Browser, form_token, is_signed_out, problems, signed_in, turned_on
from .uploading import picture, uploaded

PAGE = "/settings/delete"
KINDS = ("statuses WHERE deleted_at IS NULL AND", "follows WHERE", "favourites WHERE", "bookmarks WHERE", "lists WHERE")


async def delete(stage: Stage, name: str = "ada") -> Browser:
    browser = await signed_in(stage, name)
    answer = await browser.send(PAGE, password=PASSWORD)
    assert (answer.status, "Your account is deleted" in answer.text) == (200, True)
    return browser


async def erased(stage: Stage) -> None:
    """Wait until the batches are done."""
    await stage.until_gone("SELECT FROM outbox WHERE kind IN ('erase', 'files')")


async def test_access_ends_at_once(stage: Stage, ada: Person, bob: Person) -> None:
    other = await signed_in(stage)
    browser = await delete(stage)
    for one in (browser, other):
        assert is_signed_out(await one.get("/settings"))
    assert (await ada.get("/api/v1/accounts/verify_credentials")).status == 401
    assert "do not belong" in (await Browser(stage).sign_in()).text
    assert (await bob.get("/api/v1/accounts/verify_credentials")).status == 200
    letter = (await stage.letterbox.receive())[-1]
    assert (letter.to, letter.subject) == ("ada@example.org", "Your account on Troupe was deleted")


async def test_the_profile_is_gone_and_the_name_stays_taken(stage: Stage, ada: Person, bob: Person) -> None:
    await ada.send("PATCH", "/api/v1/accounts/update_credentials", form={"display_name": "Ada L.", "note": "about me"})
    await delete(stage)
    assert (await bob.get(f"/api/v1/accounts/{ada.id}")).status == 410
    assert (await stage.anybody().get("/.well-known/webfinger?resource=acct:ada@localhost:3000")).status == 410
    assert (await bob.get("/api/v1/accounts/lookup?acct=ada")).status in (404, 410)
    assert "about me" not in str(await stage.rows("SELECT accounts::text FROM accounts"))
    assert await stage.rows("SELECT count(*) FROM users") == [[1]]
    again = await stage.http_context.database.read(registration.taken, "Ada", "ada@example.org")
    assert again == ["username"], "the address is free, and the name is not"


async def test_nothing_is_left_on_any_surface(stage: Stage, ada: Person, bob: Person) -> None:
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    bobs = (await bob.publish("of bob"))["id"]
    ours = [(await ada.publish(f"of ada #tea {number}"))["id"] for number in range(3)]
    for action in ("favourite", "reblog", "bookmark"):
        await ada.post(f"/api/v1/statuses/{bobs}/{action}")
    await ada.post("/api/v1/lists", {"title": "mine"})
    await ada.post(f"/api/v1/statuses/{bobs}/favourite")
    await delete(stage)
    for path in ("/api/v1/timelines/home", "/api/v1/timelines/public", "/api/v1/timelines/tag/tea"):
        assert "of ada" not in (await bob.get(path)).text, path
    assert (await bob.get(f"/api/v1/statuses/{ours[0]}")).status == 404
    await erased(stage)
    for kind in KINDS:
        assert await stage.rows(f"SELECT FROM {kind} account_id = $1", ada.account.id) == [], kind
    shown = (await bob.get(f"/api/v1/statuses/{bobs}")).json
    assert (shown["favourites_count"], shown["reblogs_count"]) == (0, 0)
    me = (await bob.get("/api/v1/accounts/verify_credentials")).json
    assert (me["followers_count"], me["following_count"], me["statuses_count"]) == (0, 0, 1)
    assert (await bob.get("/api/v1/notifications")).json == []


async def test_many_statuses_go_in_batches(stage: Stage, ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account_deletions, "STATUSES_AT_ONCE", 2)
    for number in range(5):
        await ada.publish(str(number))
    await delete(stage)
    await erased(stage)
    assert await stage.rows("SELECT FROM statuses WHERE deleted_at IS NULL") == []
    assert stage.told("outbox.retry") == []


async def test_an_import_that_is_not_finished_goes_no_further(stage: Stage, ada: Person, bob: Person) -> None:
    await delete(stage)
    await erased(stage)
    await stage.sql(
        "INSERT INTO imports (id, account_id, kind, overwrite, created_at) VALUES (1, $1, 'following', false, now())",
        ada.account.id,
    )
    await stage.sql("INSERT INTO import_lines (import_id, number, target) VALUES (1, 1, 'bob')")
    actor = Address("account", ada.id)
    assert not await stage.http_context.runtime.ask(actor, ImportSome(1), origin=Origin("test"))
    assert (await bob.get("/api/v1/notifications")).json == []


async def test_files_are_removed(stage: Stage, ada: Person) -> None:
    store = stage.http_context.media.folder.store
    for attached in (True, False):
        medium = await uploaded(ada, picture())
        if attached:
            await ada.publish("a picture", **{"media_ids[]": medium["id"]})
    names = [name for row in await stage.rows("SELECT file, thumbnail_file FROM media_attachments") for name in row]
    assert all(store.size(name) for name in names if name)
    await delete(stage)
    await erased(stage)
    assert not any(store.size(name) for name in names if name)
    assert await stage.rows("SELECT FROM media_attachments") == []


@pytest.mark.parametrize("password", ["", "wrong"])
async def test_it_needs_the_password(stage: Stage, ada: Person, password: str) -> None:
    page = await (await signed_in(stage)).send(PAGE, password=password)
    assert (page.status, list(problems(page))) == (422, ["password"])
    assert (await ada.get("/api/v1/accounts/verify_credentials")).status == 200


async def test_it_needs_a_code_where_two_factor_is_on(stage: Stage, ada: Person) -> None:
    browser = await signed_in(stage)
    _, codes = await turned_on(stage, browser)
    page = await browser.send(PAGE, password=PASSWORD)
    assert (page.status, list(problems(page))) == (422, ["code"])
    assert (await browser.send(PAGE, password=PASSWORD, code=codes[0])).status == 200
    assert await stage.rows("SELECT FROM two_factor") == []


async def test_a_form_of_another_site_deletes_nothing(stage: Stage, ada: Person) -> None:
    browser = await signed_in(stage)
    for token in ("", form_token(await Browser(stage).get("/auth/sign_in"))):
        assert (await browser.post(PAGE, {"form_token": token, "password": PASSWORD})).status == 403
    assert (await ada.get("/api/v1/accounts/verify_credentials")).status == 200
