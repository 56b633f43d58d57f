"""Reports: what people who report, staff and all others notice."""

from typing import Any

import pytest

from troupe.actors.broadcast.broadcast import account_address
from troupe.actors.commands.account_deletions import DeleteAccount
from troupe.actors.facts.moderation import ModeratedAccount
from troupe.storage import media

from ..checklist.rows import rows
from ..clients import STAFF, Client, Person, Reply, Stage, ids, link
from .moderating import moderator
from .operator_texts import write_operator_text
from .sweeping import DAY, Sweeper
from .uploading import attach, fetched, uploaded

REPORTS = "/api/v1/reports"
ADMIN = "/api/v1/admin/reports"
MISSING = (404, {"error": "Record not found"})
RULES = """
[[rules]]
id = 7
text = "Be kind."
[[rules]]
id = 8
text = "No spam."
"""


async def report(by: Client, about: Person, **more: Any) -> Any:
    return await by.done("POST", REPORTS, json={"account_id": about.id, **more})


def refusal(reply: Reply) -> tuple[int, Any]:
    return reply.status, reply.json


@rows("S217")
async def test_a_report_is_answered_and_staff_read_it(stage: Stage, ada: Person, bob: Person) -> None:
    mod = await moderator(stage)
    status = await bob.publish("buy my things")
    made = await report(ada, bob, status_ids=[status["id"]], comment=" It is spam.\n", category="spam")
    assert made | {"created_at": "", "target_account": {}} == {
        "id": made["id"],
        "action_taken": False,
        "action_taken_at": None,
        "category": "spam",
        "comment": "It is spam.",
        "forwarded": False,
        "created_at": "",
        "status_ids": [status["id"]],
        "rule_ids": None,
        "target_account": {},
    }
    assert made["target_account"]["id"] == bob.id
    read = (await mod.get(f"{ADMIN}/{made['id']}")).json
    assert (read["account"]["id"], read["target_account"]["id"]) == (ada.id, bob.id)
    assert (read["comment"], read["category"], read["action_taken"]) == ("It is spam.", "spam", False)
    assert [one["content"] for one in read["statuses"]] == ["<p>buy my things</p>"]
    assert (read["assigned_account"], read["action_taken_by_account"]) == (None, None)


async def test_rules_make_a_report_about_their_violation(stage: Stage, ada: Person, bob: Person) -> None:
    write_operator_text(stage, "rules.toml", RULES)
    made = await report(ada, bob, rule_ids=["8", "7", "8"], category="spam")
    assert (made["category"], made["rule_ids"]) == ("violation", ["8", "7"])
    refused = await ada.post(REPORTS, json={"account_id": bob.id, "rule_ids": ["9"]})
    text = "Validation failed: Rule ids does not reference valid rules"
    assert refusal(refused) == (422, {"error": text})
    mod = await moderator(stage)
    assert [one["text"] for one in (await mod.get(f"{ADMIN}/{made['id']}")).json["rules"]] == ["No spam.", "Be kind."]


async def test_a_status_that_the_reporter_does_not_see_is_missing(stage: Stage, ada: Person, bob: Person) -> None:
    eve = await stage.person("eve")
    private = await bob.publish("for followers", visibility="private")
    foreign = await eve.publish("mine")
    deleted = await bob.publish("gone")
    await bob.delete(f"/api/v1/statuses/{deleted['id']}")
    for id in (private["id"], foreign["id"], deleted["id"], "1", "x"):
        refused = await ada.post(REPORTS, json={"account_id": bob.id, "status_ids": [id]})
        assert refusal(refused) == MISSING
    assert await stage.rows("SELECT id FROM reports") == []
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    assert (await report(ada, bob, status_ids=[private["id"]]))["status_ids"] == [private["id"]]


async def test_an_account_that_is_not_there_is_missing(stage: Stage, ada: Person, bob: Person) -> None:
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE id = $1", bob.account.id)
    for id in (bob.id, "1", "x", "", "99999999999999999999"):
        assert refusal(await ada.post(REPORTS, json={"account_id": id})) == MISSING
    assert refusal(await ada.post(REPORTS, json={})) == MISSING


async def test_a_blocked_account_may_report_the_one_that_blocks_it(stage: Stage, ada: Person, bob: Person) -> None:
    public, direct = await bob.publish("public"), await bob.publish("@ada go away", visibility="direct")
    await bob.post(f"/api/v1/accounts/{ada.id}/block")
    assert refusal(await ada.post(REPORTS, json={"account_id": bob.id, "status_ids": [public["id"]]})) == MISSING
    assert (await report(ada, bob, status_ids=[direct["id"]]))["status_ids"] == [direct["id"]]


async def test_too_long_reports_are_refused(stage: Stage, ada: Person, bob: Person) -> None:
    assert (await report(ada, bob, comment="ä" * 1000))["comment"] == "ä" * 1000
    refused = await ada.post(REPORTS, json={"account_id": bob.id, "comment": "ä" * 1001})
    text = "Validation failed: Comment is too long (maximum is 1000 characters)"
    assert refusal(refused) == (422, {"error": text})
    many = [str(number) for number in range(51)]
    refused = await ada.post(REPORTS, json={"account_id": bob.id, "status_ids": many})
    assert refusal(refused) == (422, {"error": "Validation failed: Status ids is too long (maximum is 50 items)"})
    refused = await ada.post(REPORTS, json={"account_id": bob.id, "category": "rude"})
    assert refusal(refused) == (422, {"error": "Validation failed: Category is not included in the list"})


async def test_moderators_take_resolve_and_reopen_a_report(stage: Stage, ada: Person, bob: Person) -> None:
    mod, chief = await moderator(stage), await moderator(stage, "chief", "admin")
    id = (await report(ada, bob))["id"]
    for _ in range(2):  # a repeat is not logged
        assert (await mod.post(f"{ADMIN}/{id}/assign_to_self")).json["assigned_account"]["id"] == mod.id
    assert (await chief.post(f"{ADMIN}/{id}/assign_to_self")).json["assigned_account"]["id"] == chief.id
    assert (await mod.post(f"{ADMIN}/{id}/unassign")).json["assigned_account"] is None
    resolved = (await mod.post(f"{ADMIN}/{id}/resolve")).json
    assert (resolved["action_taken"], resolved["action_taken_by_account"]["id"]) == (True, mod.id)
    assert (await chief.post(f"{ADMIN}/{id}/resolve")).json["action_taken_by_account"]["id"] == mod.id
    assert ids(await mod.get(ADMIN)) == []
    assert ids(await mod.get(f"{ADMIN}?resolved=true")) == [id]
    reopened = (await chief.post(f"{ADMIN}/{id}/reopen")).json
    assert (reopened["action_taken"], reopened["action_taken_at"]) == (False, None)
    assert reopened["action_taken_by_account"] is None
    assert (await mod.post(f"{ADMIN}/{id}/reopen")).status == 200
    assert ids(await mod.get(ADMIN)) == [id]
    done = "SELECT actor, action, target_type, target_id::text, target FROM audit_log ORDER BY id"
    assert await stage.rows(done) == [
        ["mod", "assign", "report", id, "bob"],
        ["chief", "assign", "report", id, "bob"],
        ["mod", "unassign", "report", id, "bob"],
        ["mod", "resolve", "report", id, "bob"],
        ["chief", "reopen", "report", id, "bob"],
    ]


async def test_moderators_change_what_a_report_is_about(stage: Stage, ada: Person, bob: Person) -> None:
    write_operator_text(stage, "rules.toml", RULES)
    mod, id = await moderator(stage), (await report(ada, bob))["id"]
    changed = (await mod.put(f"{ADMIN}/{id}", json={"category": "violation", "rule_ids": [7]})).json
    assert (changed["category"], [one["id"] for one in changed["rules"]]) == ("violation", ["7"])
    refused = await mod.put(f"{ADMIN}/{id}", json={"category": "spam"})
    assert refusal(refused) == (422, {"error": "Validation failed: Rule ids must be blank"})
    refused = await mod.put(f"{ADMIN}/{id}", json={"rule_ids": [9]})
    assert refusal(refused) == (422, {"error": "Validation failed: Rule ids does not reference valid rules"})
    changed = (await mod.put(f"{ADMIN}/{id}", json={"category": "spam", "rule_ids": []})).json
    assert (changed["category"], changed["rules"]) == ("spam", [])
    assert (await mod.put(f"{ADMIN}/{id}", json={"category": "spam"})).status == 200
    log = await stage.rows("SELECT actor, action, details FROM audit_log ORDER BY id")
    assert log == [
        ["mod", "update", {"category": "violation", "rule_ids": ["7"]}],
        ["mod", "update", {"category": "spam", "rule_ids": []}],
    ]


async def test_reports_are_listed_by_who_and_about_whom(stage: Stage, ada: Person, bob: Person) -> None:
    mod, eve = await moderator(stage), await stage.person("eve")
    first, second, third = [
        (await report(by, about))["id"] for by, about in ((ada, bob), (eve, bob), (ada, eve))
    ]  # fmt: skip
    assert ids(await mod.get(ADMIN)) == [third, second, first]
    assert ids(await mod.get(f"{ADMIN}?account_id={ada.id}")) == [third, first]
    assert ids(await mod.get(f"{ADMIN}?target_account_id={bob.id}")) == [second, first]
    assert ids(await mod.get(f"{ADMIN}?account_id={eve.id}&target_account_id={bob.id}")) == [second]
    assert ids(await mod.get(f"{ADMIN}?account_id=x")) == []
    page = await mod.get(f"{ADMIN}?limit=2")
    assert ids(page) == [third, second]
    rest = await mod.get(link(page, "next"))
    assert ids(rest) == [first]
    assert ids(await mod.get(link(rest, "prev"))) == [third, second]


# What staff are told --------------------------------------------------------------------------------------------------


async def notified(person: Person) -> list[str]:
    """The reports of the notifications about reports, the newest first."""
    return [one["report"]["id"] for one in (await person.get("/api/v1/notifications?types[]=admin.report")).json]


async def test_staff_are_told_once_while_a_report_is_open(stage: Stage, ada: Person, bob: Person) -> None:
    mod, eve = await moderator(stage), await stage.person("eve")
    first = (await report(ada, bob, comment="rude"))["id"]
    second = (await report(eve, bob))["id"]
    assert await notified(mod) == [first]
    newest = (await mod.get("/api/v1/notifications")).json[0]
    assert (newest["type"], newest["account"]["id"], newest["report"]["comment"]) == ("admin.report", ada.id, "rude")
    assert newest["report"]["target_account"]["id"] == bob.id
    grouped = (await mod.get("/api/v2/notifications")).json["notification_groups"]
    assert [one["report"] for one in grouped] == [newest["report"]]
    shown = (await mod.get(f"/api/v2/notifications/{newest['group_key']}")).json["notification_groups"]
    assert shown[0]["report"] == newest["report"]
    for id in (first, second):
        await mod.post(f"{ADMIN}/{id}/resolve")
    third = (await report(eve, bob))["id"]
    assert await notified(mod) == [third, first]
    assert (await mod.get("/api/v1/notifications?exclude_types[]=admin.report")).json == []


async def test_staff_get_a_mail(stage: Stage, ada: Person, bob: Person) -> None:
    await moderator(stage)
    made = await report(ada, bob, status_ids=[(await bob.publish())["id"]], category="spam", comment="secret")
    letter = (await stage.letterbox.receive())[0]
    assert letter.to == "mod@example.org"
    for word in ("@bob", "spam", f"posts: 1. The number of the report is {made['id']}."):
        assert word in letter.body
    assert "ada" not in letter.body
    assert "secret" not in letter.body


async def test_only_staff_who_are_not_part_of_it_are_told(stage: Stage, ada: Person, bob: Person) -> None:
    mod, chief = await moderator(stage), await moderator(stage, "chief", "admin")
    off = await stage.person("off", STAFF, role="admin")
    await stage.sql("UPDATE users SET disabled_at = now() WHERE account_id = $1", off.account.id)
    await report(mod, chief)
    for person in (ada, bob, mod, chief):
        assert await notified(person) == []
    boss = await stage.person("boss", STAFF, role="owner")
    made = await report(ada, mod)
    assert await notified(boss) == [made["id"]]
    assert await notified(chief) == [made["id"]]
    assert await notified(mod) == []
    told = await stage.rows("SELECT 1 FROM notifications WHERE account_id = ANY($1)", [off.account.id, mod.account.id])
    assert told == []


async def test_a_moderator_who_is_one_no_more_reads_nothing_of_it(stage: Stage, ada: Person, bob: Person) -> None:
    mod = await moderator(stage)
    await report(ada, bob)
    (told,) = (await mod.get("/api/v1/notifications")).json
    await stage.sql("UPDATE users SET role = 'user' WHERE account_id = $1", mod.account.id)
    await stage.http_context.facts.apply([ModeratedAccount(mod.account.id, barred=False)])  # as the command promises
    assert (await mod.get("/api/v1/notifications")).json == []
    assert (await mod.get(f"/api/v1/notifications/{told['id']}")).status == 404
    assert (await mod.get("/api/v2/notifications")).json["notification_groups"] == []
    assert (await mod.get("/api/v1/notifications/unread_count")).json == {"count": 0}
    assert (await mod.get(ADMIN)).status == 403


async def test_no_user_learns_of_a_report(stage: Stage, ada: Person, bob: Person) -> None:
    id = (await report(ada, bob))["id"]
    for person in (ada, bob):
        for method, path in (("GET", ""), ("GET", f"/{id}"), ("POST", f"/{id}/resolve"), ("PUT", f"/{id}")):
            refused = await person.send(method, f"{ADMIN}{path}")
            assert refused.status == 403
        assert (await person.get("/api/v1/notifications")).json == []
    assert "secret" not in (await bob.get(f"/api/v1/accounts/{bob.id}")).text


# What becomes of reports ----------------------------------------------------------------------------------------------


async def open_reports(staff: Person) -> list[str]:
    return ids(await staff.get(ADMIN))


async def act(staff: Person, target: Person, **form: Any) -> Reply:
    return await staff.post(f"/api/v1/admin/accounts/{target.id}/action", json=form)


@rows("S104", "S106")
@pytest.mark.parametrize("action", ["sensitive", "disable", "silence", "suspend"])
async def test_an_action_resolves_all_reports_about_the_account(
    stage: Stage, ada: Person, bob: Person, action: str
) -> None:
    mod, eve = await moderator(stage), await stage.person("eve")
    first, second = (await report(ada, bob))["id"], (await report(eve, bob))["id"]
    other = (await report(ada, eve))["id"]
    assert (await act(mod, bob, type=action)).status == 200
    assert await open_reports(mod) == [other]
    resolved = (await mod.get(f"{ADMIN}?resolved=1")).json
    assert [(one["id"], one["action_taken_by_account"]["id"]) for one in resolved] == [
        (second, mod.id),
        (first, mod.id),
    ]


@rows("S105")
async def test_a_warning_resolves_only_the_report_that_it_names(stage: Stage, ada: Person, bob: Person) -> None:
    mod, eve = await moderator(stage), await stage.person("eve")
    first, second = (await report(ada, bob))["id"], (await report(eve, bob))["id"]
    assert (await act(mod, bob, type="none")).status == 200
    assert await open_reports(mod) == [second, first]
    assert (await act(mod, bob, type="none", report_id=first)).status == 200
    assert await open_reports(mod) == [second]


async def test_an_action_names_only_reports_about_the_account(stage: Stage, ada: Person, bob: Person) -> None:
    mod, eve = await moderator(stage), await stage.person("eve")
    other = (await report(ada, eve))["id"]
    for id in (other, "103"):
        for type in ("none", "silence"):
            assert refusal(await act(mod, bob, type=type, report_id=id)) == MISSING
    assert await open_reports(mod) == [other]
    assert await stage.rows("SELECT 1 FROM strikes") == []


@rows("S098")
async def test_a_reported_status_is_kept_until_the_report_is_resolved(
    stage: Stage, sweeper: Sweeper, ada: Person, bob: Person
) -> None:
    mod, medium = await moderator(stage), await uploaded(bob)
    reported = await attach(bob, medium, text="look at this")
    other = await bob.publish("and that")
    id = (await report(ada, bob, status_ids=[reported["id"]]))["id"]
    for status in (reported, other):
        assert (await bob.delete(f"/api/v1/statuses/{status['id']}?delete_media=true")).status == 200
    assert (await ada.get(f"/api/v1/statuses/{reported['id']}")).status == 404
    await sweeper.sweep(31 * DAY)
    assert await stage.rows("SELECT id::text FROM statuses") == [[reported["id"]]]
    assert await loose_media(stage) == []
    (shown,) = (await mod.get(f"{ADMIN}/{id}")).json["statuses"]
    assert (shown["content"], shown["media_attachments"][0]["id"]) == ("<p>look at this</p>", medium["id"])
    assert (await fetched(mod, medium["url"])).status == 200
    await mod.post(f"{ADMIN}/{id}/resolve")
    await sweeper.sweep(29 * DAY)
    assert await stage.rows("SELECT id::text FROM statuses") == [[reported["id"]]]
    await sweeper.sweep(31 * DAY)
    assert await stage.rows("SELECT id FROM statuses") == []
    assert await loose_media(stage) == [int(medium["id"])]
    assert (await mod.get(f"{ADMIN}/{id}")).json["statuses"] == []
    deleted = [str(facts["decision"]) for _, facts in sweeper.recorded if "deleted posts" in str(facts)]
    assert ["1 deleted posts" in decision for decision in deleted] == [True, True]


@pytest.mark.parametrize("with_status", [False, True])
async def test_media_of_a_reported_status_that_are_deleted_are_kept_for_staff_alone(
    stage: Stage, ada: Person, bob: Person, with_status: bool
) -> None:
    mod, medium = await moderator(stage), await uploaded(bob)
    reported = await attach(bob, medium)
    id, path = (await report(ada, bob, status_ids=[reported["id"]]))["id"], f"/api/v1/media/{medium['id']}"
    await bob.delete(f"/api/v1/statuses/{reported['id']}?delete_media={str(with_status).lower()}")
    if not with_status:
        assert refusal(await bob.delete(path)) == (200, {})
    assert [(await bob.send(method, path)).status for method in ("GET", "PUT", "DELETE")] == [404, 404, 404]
    again = await bob.post("/api/v1/statuses", {"status": "again", "media_ids[]": medium["id"]})
    assert again.status == 422
    assert (await fetched(mod, medium["url"])).status == 200
    (shown,) = (await mod.get(f"{ADMIN}/{id}")).json["statuses"]
    assert [one["id"] for one in shown["media_attachments"]] == [medium["id"]]
    assert await loose_media(stage) == []
    await mod.post(f"{ADMIN}/{id}/resolve")
    assert await loose_media(stage) == [int(medium["id"])]


async def loose_media(stage: Stage) -> list[int]:
    """The media that the hourly clean-up deletes."""
    later = stage.http_context.clock.now() + DAY
    gone = await stage.http_context.database.transact(media.delete_loose, later, 100)
    return [one.id for one in gone]


async def test_a_reply_to_an_erased_status_is_still_a_reply(
    stage: Stage, sweeper: Sweeper, ada: Person, bob: Person
) -> None:
    poll = {"options": ["a", "b"], "expires_in": 600}
    parent = (await bob.post("/api/v1/statuses", json={"status": "a question", "poll": poll})).json
    reply = await ada.publish("an answer", in_reply_to_id=parent["id"])
    await bob.delete(f"/api/v1/statuses/{parent['id']}")
    await sweeper.sweep(31 * DAY)
    assert await stage.rows("SELECT id::text FROM statuses") == [[reply["id"]]]
    assert await stage.rows("SELECT id FROM polls") == []
    assert (await ada.get(f"/api/v1/statuses/{reply['id']}")).json["in_reply_to_id"] == parent["id"]
    context = (await ada.get(f"/api/v1/statuses/{reply['id']}/context")).json
    assert context == {"ancestors": [], "descendants": []}
    assert ids(await stage.anybody().get("/api/v1/timelines/public")) == []


async def test_a_reported_boost_keeps_what_it_boosts(stage: Stage, sweeper: Sweeper, ada: Person, bob: Person) -> None:
    mod, original = await moderator(stage), await ada.publish("mine")
    boost = (await bob.post(f"/api/v1/statuses/{original['id']}/reblog")).json
    eve = await stage.person("eve")
    id = (await report(eve, bob, status_ids=[boost["id"]]))["id"]
    await ada.delete(f"/api/v1/statuses/{original['id']}")
    await sweeper.sweep(31 * DAY)
    (shown,) = (await mod.get(f"{ADMIN}/{id}")).json["statuses"]
    assert (shown["id"], shown["reblog"]["content"]) == (boost["id"], "<p>mine</p>")


async def test_a_report_outlives_the_deletion_of_the_account(stage: Stage, ada: Person, bob: Person) -> None:
    mod, status = await moderator(stage), await bob.publish("look at this")
    id = (await report(ada, bob, status_ids=[status["id"]]))["id"]
    await stage.http_context.runtime.ask(account_address(bob.account.id), DeleteAccount())
    read = (await mod.get(f"{ADMIN}/{id}")).json
    assert read["target_account"]["username"] == "bob"
    assert [one["content"] for one in read["statuses"]] == ["<p>look at this</p>"]
    assert refusal(await ada.post(REPORTS, json={"account_id": bob.id})) == MISSING
