"""Staff decide by the API what may trend, and the trends follow at once."""

from typing import Any

from ..clients import Person, Stage, ids
from .stored import change_unnoticed, rows

ADMIN = "/api/v1/admin/trends"


async def names(person: Person) -> list[str]:
    return [tag["name"] for tag in (await person.get("/api/v1/trends/tags")).json]


async def acts(stage: Stage) -> list[Any]:
    return await stage.rows("SELECT actor, action, target_type, target FROM audit_log ORDER BY id")


async def test_a_hashtag_waits_and_is_approved_and_rejected(stage: Stage, mod: Person, crowd: list[Person]) -> None:
    for fan in crowd:
        await fan.publish("#tea")
    assert await names(mod) == []
    (waiting,) = (await mod.get(f"{ADMIN}/tags")).json
    assert (waiting["name"], waiting["trendable"], waiting["requires_review"]) == ("tea", False, True)
    assert waiting["history"][0]["accounts"] == "5"
    approved = await mod.post(f"{ADMIN}/tags/{waiting['id']}/approve")
    assert (approved.json["trendable"], approved.json["requires_review"]) == (True, False)
    assert await names(mod) == ["tea"]
    assert not (await mod.post(f"{ADMIN}/tags/{waiting['id']}/reject")).json["trendable"]
    assert await names(mod) == []
    assert await acts(stage) == [["mod", "allow_trend", "tag", "tea"], ["mod", "forbid_trend", "tag", "tea"]]


async def test_a_status_is_approved_and_rejected(stage: Stage, mod: Person, crowd: list[Person]) -> None:
    await crowd[0].send("PATCH", "/api/v1/accounts/update_credentials", form={"discoverable": "true"})
    post = (await crowd[0].publish("well said"))["id"]
    for fan in [*crowd[1:], mod]:
        await fan.post(f"/api/v1/statuses/{post}/favourite")
    assert ids(await mod.get("/api/v1/trends/statuses")) == []
    assert ids(await mod.get(f"{ADMIN}/statuses")) == [post]
    assert (await mod.post(f"{ADMIN}/statuses/{post}/approve")).json["id"] == post
    assert ids(await mod.get("/api/v1/trends/statuses")) == [post]
    await mod.post(f"{ADMIN}/statuses/{post}/reject")
    assert ids(await mod.get("/api/v1/trends/statuses")) == []


async def test_private_posts_are_not_shown_to_staff_here(mod: Person, crowd: list[Person]) -> None:
    post = (await crowd[0].publish("between us", visibility="private"))["id"]
    assert (await mod.post(f"{ADMIN}/statuses/{post}/approve")).status == 404


async def test_a_hashtag_is_changed(stage: Stage, mod: Person, crowd: list[Person]) -> None:
    await crowd[0].publish("#blacktea")
    (tag,) = (await mod.get("/api/v1/admin/tags")).json
    path = f"/api/v1/admin/tags/{tag['id']}"
    changed = await mod.put(path, {"display_name": "BlackTea", "listable": "false"})
    assert (changed.status, changed.json["listable"], changed.json["usable"]) == (200, False, True)
    assert await stage.rows("SELECT display_name FROM tags") == [["BlackTea"]]
    assert (await crowd[1].get("/api/v2/search?q=%23blacktea&type=hashtags")).json["hashtags"] == []
    before = await rows(stage)
    for wrong in ("GreenTea", "two words", "x" * 256):
        assert (await mod.put(path, {"display_name": wrong})).status == 422, wrong
    assert await rows(stage) == before
    assert (await mod.get(path)).json["requires_review"] is False


async def test_the_last_page_of_hashtags_leads_to_no_further_one(mod: Person, ada: Person) -> None:
    await ada.publish("#tea #milk")
    full, last = await mod.get("/api/v1/admin/tags?limit=2"), await mod.get("/api/v1/admin/tags?limit=3")
    assert [tag["name"] for tag in full.json] == [tag["name"] for tag in last.json] == ["milk", "tea"]
    assert ('rel="next"' in full.headers["Link"], 'rel="next"' in last.headers["Link"]) == (True, False)


async def test_a_link_is_approved(stage: Stage, mod: Person) -> None:
    await stage.sql("INSERT INTO preview_cards (id, url, found, fetched_at) VALUES (1, 'https://n.test/', true, now())")
    shown = await mod.post(f"{ADMIN}/links/1/approve")
    assert (shown.status, shown.json["url"], shown.json["id"]) == (200, "https://n.test/", "1")
    assert await stage.rows("SELECT card_id, trendable FROM link_reviews") == [[1, True]]
    assert (await mod.get(f"{ADMIN}/links")).json == []


async def test_who_lost_the_role_decides_nothing(stage: Stage, mod: Person, crowd: list[Person]) -> None:
    """The role is read from the row: the token that the server remembers still has the old one."""
    await stage.sql("INSERT INTO preview_cards (id, url, found, fetched_at) VALUES (1, 'https://n.test/', true, now())")
    post = (await crowd[0].publish("#tea"))["id"]
    (tag,) = (await mod.get("/api/v1/admin/tags")).json
    await change_unnoticed(stage, "UPDATE users SET role = 'user' WHERE account_id = $1", mod.account.id)
    before = await rows(stage)
    for path in (f"tags/{tag['id']}", f"statuses/{post}", "links/1"):
        for decision in ("approve", "reject"):
            assert (await mod.post(f"{ADMIN}/{path}/{decision}")).status == 403, path
    assert (await mod.put(f"/api/v1/admin/tags/{tag['id']}", {"listable": "false"})).status == 403
    assert await rows(stage) == before
