"""Reports: what people who report, staff and all others notice."""

from typing import Any

from ..checklist.rows import rows
from ..clients import SCOPES, Client, Person, Reply, Stage, link
from .policy_files import write_policy

STAFF = (*SCOPES, "admin:read", "admin:write")
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


async def moderator(stage: Stage, name: str = "mod", role: str = "moderator") -> Person:
    return await stage.person(name, STAFF, role=role)


async def report(by: Client, about: Person, **more: Any) -> Any:
    reply = await by.post(REPORTS, json={"account_id": about.id, **more})
    assert reply.status == 200, reply.text
    return reply.json


def told(reply: Reply) -> list[str]:
    assert reply.status == 200
    return [one["id"] for one in reply.json]


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
    write_policy(stage, "rules.toml", RULES)
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
    assert (await mod.post(f"{ADMIN}/{id}/assign_to_self")).json["assigned_account"]["id"] == mod.id
    assert (await chief.post(f"{ADMIN}/{id}/assign_to_self")).json["assigned_account"]["id"] == chief.id
    assert (await mod.post(f"{ADMIN}/{id}/unassign")).json["assigned_account"] is None
    resolved = (await mod.post(f"{ADMIN}/{id}/resolve")).json
    assert (resolved["action_taken"], resolved["action_taken_by_account"]["id"]) == (True, mod.id)
    assert (await chief.post(f"{ADMIN}/{id}/resolve")).json["action_taken_by_account"]["id"] == mod.id
    assert told(await mod.get(ADMIN)) == []
    assert told(await mod.get(f"{ADMIN}?resolved=true")) == [id]
    reopened = (await chief.post(f"{ADMIN}/{id}/reopen")).json
    assert (reopened["action_taken"], reopened["action_taken_at"]) == (False, None)
    assert reopened["action_taken_by_account"] is None
    assert told(await mod.get(ADMIN)) == [id]
    done = "SELECT actor, action, target_type, target_id::text, target FROM audit_log ORDER BY id"
    assert await stage.rows(done) == [
        ["mod", "assign", "report", id, "bob"],
        ["chief", "assign", "report", id, "bob"],
        ["mod", "unassign", "report", id, "bob"],
        ["mod", "resolve", "report", id, "bob"],
        ["chief", "reopen", "report", id, "bob"],
    ]


async def test_moderators_change_what_a_report_is_about(stage: Stage, ada: Person, bob: Person) -> None:
    write_policy(stage, "rules.toml", RULES)
    mod, id = await moderator(stage), (await report(ada, bob))["id"]
    changed = (await mod.put(f"{ADMIN}/{id}", json={"category": "violation", "rule_ids": [7]})).json
    assert (changed["category"], [one["id"] for one in changed["rules"]]) == ("violation", ["7"])
    refused = await mod.put(f"{ADMIN}/{id}", json={"category": "spam"})
    assert refusal(refused) == (422, {"error": "Validation failed: Rule ids must be blank"})
    refused = await mod.put(f"{ADMIN}/{id}", json={"rule_ids": [9]})
    assert refusal(refused) == (422, {"error": "Validation failed: Rule ids does not reference valid rules"})
    changed = (await mod.put(f"{ADMIN}/{id}", json={"category": "spam", "rule_ids": []})).json
    assert (changed["category"], changed["rules"]) == ("spam", [])


async def test_reports_are_listed_by_who_and_about_whom(stage: Stage, ada: Person, bob: Person) -> None:
    mod, eve = await moderator(stage), await stage.person("eve")
    first, second, third = [
        (await report(by, about))["id"] for by, about in ((ada, bob), (eve, bob), (ada, eve))
    ]  # fmt: skip
    assert told(await mod.get(ADMIN)) == [third, second, first]
    assert told(await mod.get(f"{ADMIN}?account_id={ada.id}")) == [third, first]
    assert told(await mod.get(f"{ADMIN}?target_account_id={bob.id}")) == [second, first]
    assert told(await mod.get(f"{ADMIN}?account_id={eve.id}&target_account_id={bob.id}")) == [second]
    assert told(await mod.get(f"{ADMIN}?account_id=x")) == []
    page = await mod.get(f"{ADMIN}?limit=2")
    assert told(page) == [third, second]
    rest = await mod.get(link(page, "next"))
    assert told(rest) == [first]
    assert told(await mod.get(link(rest, "prev"))) == [third, second]
