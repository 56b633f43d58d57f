"""Strikes and appeals: what a user is told of acts of staff, and how a user answers."""

import re
from typing import Any

import pytest

from ..checklist.rows import rows
from ..clients import STAFF, Client, Person, Reply, Stage, ids
from .settling import signed_in
from .signing_in import hidden
from .stored import change_unnoticed
from .uploading import attach, fetched, files_removed, uploaded


async def act(staff: Person, target: Person, type: str, **more: Any) -> Reply:
    form = {"type": type, "text": "Be kind.", "send_email_notification": True, **more}
    return await staff.post(f"/api/v1/admin/accounts/{target.id}/action", json=form)


async def warning(person: Person) -> Any:
    """The newest notification, which is a warning."""
    newest = (await person.get("/api/v1/notifications")).json[0]
    assert newest["type"] == "moderation_warning"
    return newest["moderation_warning"]


def link(stage: Stage) -> str:
    """The link of the newest mail."""
    found = re.search(r"http://localhost:3000(/disputes/strike\?token=\S+)", stage.letterbox.letters[-1].body)
    assert found is not None
    return found[1]


async def appeal(browser: Client, path: str, text: str = "I was kind.") -> Reply:
    page = await browser.get(path)
    assert page.status == 200, page.text
    return await browser.post(path.partition("?")[0], hidden(page) | {"text": text})


async def appeals(staff: Person) -> Any:
    return (await staff.get("/api/v1/admin/appeals")).json


async def test_a_warning_is_a_notification_and_a_mail(stage: Stage) -> None:
    mod, ada = await stage.person("mod", STAFF, role="moderator"), await stage.person("ada")
    assert (await act(mod, ada, "none")).status == 200
    shown = await warning(ada)
    assert (shown["action"], shown["text"], shown["target_account"]["id"]) == ("none", "Be kind.", ada.id)
    grouped = (await ada.get("/api/v2/notifications")).json["notification_groups"][0]
    assert grouped["moderation_warning"] == shown
    letter = (await stage.letterbox.receive())[0]
    assert letter.to == "ada@example.org"
    assert "Be kind." in letter.body
    assert (await mod.get("/api/v1/notifications")).json == []


async def test_without_a_mail_there_is_none(stage: Stage) -> None:
    mod, ada = await stage.person("mod", STAFF, role="moderator"), await stage.person("ada")
    await act(mod, ada, "silence", send_email_notification=False)
    assert (await warning(ada))["action"] == "silence"
    assert await stage.rows("SELECT 1 FROM outbox WHERE queue = 'mail'") == []


@rows("S103")
async def test_removed_statuses_are_gone_with_their_media(stage: Stage) -> None:
    mod, ada, bob = (
        await stage.person("mod", STAFF, role="moderator"),
        await stage.person("ada"),
        await stage.person("bob"),
    )
    medium = await uploaded(ada)
    published, kept = await attach(ada, medium, text="look at this"), await ada.publish("and this")
    assert (await fetched(bob, medium["url"])).status == 200
    assert (await act(mod, ada, "delete_statuses", status_ids=[published["id"]])).status == 200
    assert (await bob.get(f"/api/v1/statuses/{published['id']}")).status == 404
    assert ids(await bob.get(f"/api/v1/accounts/{ada.id}/statuses")) == [kept["id"]]
    await files_removed(stage)
    assert (await fetched(bob, medium["url"])).status == 404
    assert (await warning(ada))["status_ids"] == [published["id"]]
    assert "> look at this" in (await stage.letterbox.receive())[0].body


async def test_statuses_are_marked_and_an_appeal_unmarks_them(stage: Stage) -> None:
    mod, ada = await stage.person("mod", STAFF, role="admin"), await stage.person("ada")
    plain, warned = await ada.publish("plain"), await ada.publish("warned", spoiler_text="tea")
    marked = [plain["id"], warned["id"]]
    assert (await act(mod, ada, "mark_statuses_as_sensitive", status_ids=marked)).status == 200
    assert (await mod.get(f"/api/v1/statuses/{plain['id']}")).json["sensitive"]
    await stage.letterbox.receive()
    await appeal(stage.anybody(), link(stage))
    waiting = (await appeals(mod))[0]
    assert (await mod.post(f"/api/v1/admin/appeals/{waiting['id']}/approve")).json["state"] == "approved"
    assert not (await mod.get(f"/api/v1/statuses/{plain['id']}")).json["sensitive"]
    assert (await mod.get(f"/api/v1/statuses/{warned['id']}")).json["sensitive"]


async def test_statuses_of_others_are_not_touched(stage: Stage) -> None:
    mod, ada, bob = (
        await stage.person("mod", STAFF, role="moderator"),
        await stage.person("ada"),
        await stage.person("bob"),
    )
    own, other = await ada.publish("own"), await bob.publish("other")
    assert (await act(mod, ada, "delete_statuses", status_ids=[own["id"], other["id"]])).status == 404
    assert (await act(mod, ada, "delete_statuses")).status == 422
    assert (await bob.get(f"/api/v1/statuses/{own['id']}")).status == 200


async def test_a_suspended_user_appeals_by_the_link_and_comes_back(stage: Stage) -> None:
    admin, ada = await stage.person("admin", STAFF, role="admin"), await stage.person("ada")
    mod = await stage.person("mod", STAFF, role="moderator")
    await act(mod, ada, "suspend")
    await stage.letterbox.receive()
    page = await appeal(stage.anybody(), link(stage))
    assert "have not decided" in page.text
    letters = await stage.letterbox.receive(2)
    assert (letters[1].to, "I was kind." in letters[1].body) == ("admin@example.org", True)
    assert (await mod.get("/api/v1/admin/appeals")).status == 403
    waiting = (await appeals(admin))[0]
    assert (waiting["text"], waiting["strike"]["action"]) == ("I was kind.", "suspend")
    approved = await admin.post(f"/api/v1/admin/appeals/{waiting['id']}/approve")
    assert (approved.status, approved.json["state"]) == (200, "approved")
    assert (await admin.get(f"/api/v1/accounts/{ada.id}")).status == 200
    assert (await ada.get("/api/v1/accounts/verify_credentials")).status == 200
    assert (await warning(ada))["appeal"] == {"text": "I was kind.", "state": "approved"}
    assert "approved" in (await stage.letterbox.receive(3))[2].subject
    assert await appeals(admin) == []


async def test_a_rejected_appeal_changes_nothing(stage: Stage) -> None:
    admin, ada = await stage.person("admin", STAFF, role="admin"), await stage.person("ada")
    await act(admin, ada, "silence")
    await stage.letterbox.receive()
    await appeal(stage.anybody(), link(stage))
    waiting = (await appeals(admin))[0]
    assert (await admin.post(f"/api/v1/admin/appeals/{waiting['id']}/reject")).json["state"] == "rejected"
    assert (await admin.get(f"/api/v1/accounts/{ada.id}")).json["limited"]
    again = await admin.post(f"/api/v1/admin/appeals/{waiting['id']}/approve")
    assert again.status == 403


async def test_each_strike_is_appealed_once_and_with_words(stage: Stage) -> None:
    admin, ada = await stage.person("admin", STAFF, role="admin"), await stage.person("ada")
    await act(admin, ada, "silence")
    await stage.letterbox.receive()
    browser, path = stage.anybody(), link(stage)
    page = await browser.get(path)
    for text in ("", " ", "x" * 2001):
        assert (await browser.post("/disputes/strike", hidden(page) | {"text": text})).status == 422
    assert (await browser.post("/disputes/strike", {"text": "no token of a form", "token": path})).status == 404
    forged = {"token": hidden(page)["token"], "text": "from another site"}
    assert (await browser.post("/disputes/strike", forged)).status == 422
    await appeal(browser, path)
    assert (await browser.post("/disputes/strike", hidden(page) | {"text": "again"})).status == 422
    assert [one["text"] for one in await appeals(admin)] == ["I was kind."]


async def test_a_strike_that_counts_no_more_is_not_appealed(stage: Stage) -> None:
    admin, ada = await stage.person("admin", STAFF, role="admin"), await stage.person("ada")
    await act(admin, ada, "silence")
    await stage.letterbox.receive()
    browser, path = stage.anybody(), link(stage)
    page = await browser.get(path)
    await stage.sql("UPDATE strikes SET overruled_at = now()")
    assert (await browser.post("/disputes/strike", hidden(page) | {"text": "late"})).status == 422
    assert 'name="text"' not in (await browser.get(path)).text
    assert await appeals(admin) == []


async def test_a_strike_is_appealed_within_20_days(stage: Stage) -> None:
    admin, ada = await stage.person("admin", STAFF, role="admin"), await stage.person("ada")
    await act(admin, ada, "silence")
    id = (await warning(ada))["id"]
    browser, path = await signed_in(stage), f"/disputes/strikes/{id}"
    page = await browser.get(path)
    await stage.sql("UPDATE strikes SET created_at = now() - interval '20 days 1 second'")
    late = await browser.post(path, hidden(page) | {"text": "late"})
    assert (late.status, await appeals(admin)) == (422, [])
    await stage.sql("UPDATE strikes SET created_at = now() - interval '19 days 23 hours'")
    assert (await browser.post(path, hidden(page) | {"text": "in time"})).status == 200
    assert [one["text"] for one in await appeals(admin)] == ["in time"]


async def test_the_link_of_a_mail_is_good_for_20_days(stage: Stage) -> None:
    admin, ada = await stage.person("admin", STAFF, role="admin"), await stage.person("ada")
    await act(admin, ada, "suspend")
    await stage.letterbox.receive()
    browser, path = stage.anybody(), link(stage)
    page = await browser.get(path)
    (lasts,) = await stage.rows("SELECT extract(day FROM expires_at - created_at)::int FROM strike_links")
    assert lasts == [20]
    await stage.sql("UPDATE strike_links SET expires_at = now() - interval '1 second'")
    assert (await browser.get(path)).status == 404
    assert (await browser.post("/disputes/strike", hidden(page) | {"text": "late"})).status == 404
    assert await appeals(admin) == []


async def test_statuses_of_equal_and_higher_roles_are_not_touched(stage: Stage) -> None:
    mod = await stage.person("mod", STAFF, role="moderator")
    for name, role in (("second", "moderator"), ("admin", "admin"), ("owner", "owner")):
        target = await stage.person(name, STAFF, role=role)
        published = await target.publish("official")
        for type in ("delete_statuses", "mark_statuses_as_sensitive"):
            refused = await act(mod, target, type, status_ids=[published["id"]])
            assert (refused.status, refused.json) == (403, {"error": "This action is not allowed"})
        assert not (await mod.get(f"/api/v1/statuses/{published['id']}")).json["sensitive"]
    assert await stage.rows("SELECT 1 FROM strikes") == []


async def test_appeals_of_equal_and_higher_roles_are_not_decided(stage: Stage) -> None:
    owner, admin = [await stage.person(role, STAFF, role=role) for role in ("owner", "admin")]
    second = await stage.person("second", STAFF, role="admin")
    await act(owner, admin, "silence")
    await stage.letterbox.receive()
    await appeal(stage.anybody(), link(stage))
    waiting = (await appeals(second))[0]
    for staff in (second, admin):
        for decision in ("approve", "reject"):
            assert (await staff.post(f"/api/v1/admin/appeals/{waiting['id']}/{decision}")).status == 403
    assert (await owner.get(f"/api/v1/accounts/{admin.id}")).json["limited"]
    assert (await owner.post(f"/api/v1/admin/appeals/{waiting['id']}/approve")).status == 200


async def test_who_lost_the_role_decides_no_appeals(stage: Stage) -> None:
    """The role is read from the row: the token that the server remembers still has the old one."""
    owner, admin = [await stage.person(role, STAFF, role=role) for role in ("owner", "admin")]
    ada = await stage.person("ada")
    await act(owner, ada, "silence")
    await stage.letterbox.receive()
    await appeal(stage.anybody(), link(stage))
    waiting = (await appeals(admin))[0]
    await change_unnoticed(stage, "UPDATE users SET role = 'moderator' WHERE account_id = $1", admin.account.id)
    assert (await admin.post(f"/api/v1/admin/appeals/{waiting['id']}/approve")).status == 403
    assert (await owner.get(f"/api/v1/accounts/{ada.id}")).json["limited"]
    assert await appeals(owner) == [waiting]


async def test_an_appeal_against_a_warning_ends_no_state(stage: Stage) -> None:
    """An approved appeal against a warning leaves a later silence as it is."""
    admin, ada = await stage.person("admin", STAFF, role="admin"), await stage.person("ada")
    await act(admin, ada, "none")
    await stage.letterbox.receive()
    await appeal(stage.anybody(), link(stage))
    await act(admin, ada, "silence")
    waiting = (await appeals(admin))[0]
    await admin.post(f"/api/v1/admin/appeals/{waiting['id']}/approve")
    assert (await admin.get(f"/api/v1/accounts/{ada.id}")).json["limited"]


@pytest.mark.parametrize("ended", [True, False])
async def test_an_appeal_leaves_the_state_to_another_strike_that_counts(stage: Stage, ended: bool) -> None:
    admin, ada = await stage.person("admin", STAFF, role="admin"), await stage.person("ada")
    await act(admin, ada, "silence")
    await stage.letterbox.receive()
    await appeal(stage.anybody(), link(stage))
    if ended:
        await admin.post(f"/api/v1/admin/accounts/{ada.id}/unsilence")
    await act(admin, ada, "silence")
    waiting = (await appeals(admin))[0]
    assert (await admin.post(f"/api/v1/admin/appeals/{waiting['id']}/approve")).status == 200
    assert (await admin.get(f"/api/v1/accounts/{ada.id}")).json["limited"]


async def test_the_page_of_another_users_strike_is_missing(stage: Stage) -> None:
    admin, ada = await stage.person("admin", STAFF, role="admin"), await stage.person("ada")
    await act(admin, ada, "none")
    id = (await warning(ada))["id"]
    assert (await stage.anybody().get(f"/disputes/strikes/{id}")).status == 302
    assert (await stage.anybody().get("/disputes/strike?token=guessed")).status == 404
    await stage.person("bob")
    other, own, path = await signed_in(stage, "bob"), await signed_in(stage), f"/disputes/strikes/{id}"
    page = await own.get(path)
    assert (page.status, "Be kind." in page.text) == (200, True)
    hers = await other.get(path)
    assert (hers.status, "Be kind." in hers.text) == (404, False)
    assert (await other.post(path, hidden(page) | {"text": "not mine"})).status == 404
    assert await appeals(admin) == []
