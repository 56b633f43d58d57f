"""Accounts as staff read and judge them."""

from contextlib import suppress
from typing import Any

import pytest
import trio

from troupe.actors.broadcast.broadcast import account_address
from troupe.actors.commands.account_deletions import DeleteAccount
from troupe.actors.kernel import Origin, Refused
from troupe.actors.rules.roles import ROLES, Permission, may

from ..checklist.rows import rows
from ..clients import STAFF, Person, Reply, Stage, link

V1, V2 = "/api/v1/admin/accounts", "/api/v2/admin/accounts"
HERE = "localhost:3000"  # the domain of the server under test
OWN = "/api/v1/accounts/verify_credentials"
NOT_ALLOWED = (403, {"error": "This action is not allowed"})


async def staff(stage: Stage, role: str = "moderator", scopes: tuple[str, ...] = STAFF) -> Person:
    return await stage.person(role, scopes, role=role)


def names(answer: Reply) -> list[str]:
    assert answer.status == 200, answer.text
    return [account["username"] for account in answer.json]


@rows("S021", "S218")
async def test_only_staff_list_show_and_act(stage: Stage) -> None:
    admin, ada, bob = await staff(stage, "admin"), await stage.person("ada", STAFF), await stage.person("bob")
    report = {"account_id": bob.id, "comment": "spam"}
    reported = (await ada.post("/api/v1/reports", report)).json["id"]
    reads = (V1, V2, f"{V1}/{bob.id}", "/api/v1/admin/reports", f"/api/v1/admin/reports/{reported}")
    acts = (f"{V1}/{bob.id}/unsilence", f"/api/v1/admin/reports/{reported}/resolve")
    for person, status in ((ada, 403), (admin, 200)):
        for path in reads:
            assert (await person.get(path)).status == status, path
        for path in acts:
            assert (await person.post(path)).status == status, path


async def test_an_account_with_all_that_staff_may_read(stage: Stage) -> None:
    mod = await staff(stage)
    ada = await stage.person("ada", locale="de", invite_request="hello", sign_up_ip="203.0.113.7")
    shown: Any = (await mod.get(f"{V1}/{ada.id}")).json
    expected = {
        "id": ada.id, "username": "ada", "domain": None, "email": "ada@example.org", "ip": "203.0.113.7",
        "locale": "de", "invite_request": "hello", "confirmed": True, "approved": True, "disabled": False,
        "sensitized": False, "silenced": False, "suspended": False,
    }  # fmt: skip
    assert {name: shown[name] for name in expected} == expected
    assert shown["role"]["id"] == "0"
    assert [one["ip"] for one in shown["ips"]] == ["203.0.113.7"]
    assert shown["account"]["acct"] == "ada"


async def test_without_the_scope_for_accounts_addresses_are_left_out(stage: Stage) -> None:
    mod, ada = await staff(stage, scopes=("admin:write",)), await stage.person("ada", sign_up_ip="203.0.113.7")
    shown = (await mod.post(f"{V1}/{ada.id}/enable")).json
    assert (shown["email"], shown["ip"], shown["ips"]) == (None, None, [])


async def test_a_deleted_account_is_missing(stage: Stage) -> None:
    mod, ada = await staff(stage), await stage.person("ada")
    await stage.sql("UPDATE accounts SET deleted_at = now() WHERE id = $1", ada.account.id)
    assert (await mod.get(f"{V1}/{ada.id}")).status == 404
    assert names(await mod.get(V1)) == ["moderator"]


async def test_pages_have_links(stage: Stage) -> None:
    mod = await staff(stage)
    for name in ("ada", "bob", "cal"):
        await stage.account(name)
    first = await mod.get(f"{V1}?limit=2&local=true")
    assert names(first) == ["cal", "bob"]
    second = await mod.get(link(first, "next"))
    assert names(second) == ["ada", "moderator"]
    assert names(await mod.get(link(second, "prev"))) == ["cal", "bob"]
    assert 'rel="next"' not in (await mod.get(f"{V1}?limit=5")).headers["Link"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("local=true", ["dis", "pen", "ada", "moderator"]),
        ("remote=true", ["sus", "sil"]),
        ("local=true&remote=true", ["sus", "sil", "dis", "pen", "ada", "moderator"]),
        ("active=true", ["sil", "ada", "moderator"]),
        ("pending=true", ["pen"]),
        ("disabled=true", ["dis"]),
        ("silenced=true", ["sil"]),
        ("suspended=true", ["sus"]),
        ("sensitized=true", ["sil"]),
        ("silenced=true&suspended=true", []),
        ("silenced=true&remote=true", ["sil"]),
        ("staff=true", ["moderator"]),
        ("username=@AD", ["ada"]),
        ("username=%25", []),
        ("username=_da", []),
        ("username=@sus@far.test", ["sus"]),
        ("username=sus@Far.Test&local=true", []),
        ("username=@ada@far.test", []),
        (f"username=@ada@{HERE}", ["ada"]),
        (f"username=sus@{HERE}", []),
        (f"username=ada@{HERE}&remote=true", []),
        (f"by_domain={HERE}", ["dis", "pen", "ada", "moderator"]),
        ("display_name=ad", ["ada"]),
        ("email=ADA@", ["ada"]),
        ("email=%25", []),
        ("email=%25@Example.ORG", ["dis", "pen", "ada", "moderator"]),
        ("email=@example.org", ["dis", "pen", "ada", "moderator"]),
        ("email=*@example.org%25", ["dis", "pen", "ada", "moderator"]),
        ("email=example.org", ["dis", "pen", "ada", "moderator"]),
        ("email=@example.or", []),
        ("email=@xample.org", []),
        ("email=@b%C3%BCcher.example", []),
        ("email=_da@example.org", []),
        ("email=a%25@example.org", []),
        ("email=@example.org&username=p", ["pen"]),
        ("by_domain=https://far.test/", ["sus", "sil"]),
        ("by_domain=Far.Test", ["sus", "sil"]),
        ("by_domain=a%20b", []),
        ("ip=203.0.113.7", ["ada"]),
        ("ip=203.0.113.0/24", ["ada"]),
        ("ip=203.0.113.99/24", ["ada"]),
        ("ip=198.51.100.0/24", []),
        ("ip=2001:db8::1", ["pen"]),
        ("email=ada&ip=2001:db8::1", []),
        ("username=&email=&ip=&by_domain=&display_name=", ["sus", "sil", "dis", "pen", "ada", "moderator"]),
    ],
)
async def test_filters_of_the_first_version(stage: Stage, query: str, found: list[str]) -> None:
    mod = await filled(stage)
    assert names(await mod.get(f"{V1}?{query}")) == found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["sus", "sil", "dis", "pen", "ada", "moderator"]),
        ("origin=remote", ["sus", "sil"]),
        ("origin=local&status=active", ["ada", "moderator"]),
        ("status=pending", ["pen"]),
        ("permissions=staff", ["moderator"]),
        ("role_ids[]=1", ["moderator"]),
        ("role_ids[]=0&username=d", ["dis"]),
        ("role_ids[]=9", []),
        ("invited_by=1", []),
    ],
)
async def test_filters_of_the_second_version(stage: Stage, query: str, found: list[str]) -> None:
    mod = await filled(stage)
    assert names(await mod.get(f"{V2}?{query}")) == found


async def test_accounts_are_found_by_the_account_that_invited_them(stage: Stage) -> None:
    mod, ada, bob = await staff(stage), await stage.account("ada"), await stage.account("bob")
    await stage.sql(
        "INSERT INTO invites (id, code, account_id, created_at) VALUES (1, 'invitation', $1, now())", ada.id
    )
    await stage.sql("UPDATE users SET invite_id = 1 WHERE account_id = $1", bob.id)
    found = await mod.get(f"{V2}?invited_by={ada.id}")
    assert names(found) == ["bob"]
    assert found.json[0]["invited_by_account_id"] == str(ada.id)
    assert names(await mod.get(f"{V2}?invited_by={bob.id}")) == []


async def filled(stage: Stage) -> Person:
    mod = await staff(stage)
    await stage.account("ada", sign_up_ip="203.0.113.7")
    await stage.account("pen", approved_at=None, sign_up_ip="2001:db8::1")
    dis = await stage.account("dis")
    await stage.sql("UPDATE users SET disabled_at = now() WHERE account_id = $1", dis.id)
    for name, state in (("sil", "silenced_at = now(), sensitized_at"), ("sus", "suspended_at")):
        far = await stage.account(name)
        await stage.sql("DELETE FROM users WHERE account_id = $1", far.id)
        await stage.sql(f"UPDATE accounts SET domain = 'far.test', {state} = now() WHERE id = $1", far.id)
    return mod


async def test_wrong_filters_are_named(stage: Stage) -> None:
    mod = await staff(stage)
    for query in ("ip=nonsense", "ip=203.0.113.7/99"):
        refused = await mod.get(f"{V1}?{query}")
        assert (refused.status, refused.json) == (422, {"error": "Validation failed: Ip is invalid"})
    assert (await mod.get(f"{V2}?status=none")).status == 422


async def test_accounts_of_other_servers_have_no_user(stage: Stage) -> None:
    mod = await filled(stage)
    far = (await mod.get(f"{V1}?silenced=true")).json[0]
    assert (far["domain"], far["ips"]) == ("far.test", [])
    for name in ("email", "ip", "locale", "invite_request", "role", "confirmed", "approved", "disabled"):
        assert far[name] is None, name


async def test_an_approved_sign_up_may_sign_in_and_is_told(stage: Stage) -> None:
    mod, pen = await staff(stage), await stage.person("pen", approved_at=None)
    assert (await pen.get(OWN)).status == 403
    approved = await mod.post(f"{V1}/{pen.id}/approve")
    assert (approved.status, approved.json["approved"]) == (200, True)
    assert (await pen.get(OWN)).status == 200
    assert [letter.to for letter in await stage.letterbox.receive()] == ["pen@example.org"]
    for command in ("approve", "reject"):
        again = await mod.post(f"{V1}/{pen.id}/{command}")
        assert (again.status, again.json) == NOT_ALLOWED
    assert (await pen.get(OWN)).status == 200
    assert await logged(stage) == [["moderator", "approve", "pen"]]


async def test_a_rejected_sign_up_is_gone(stage: Stage) -> None:
    mod, pen = await staff(stage), await stage.person("pen", approved_at=None)
    rejected = await mod.post(f"{V1}/{pen.id}/reject")
    assert (rejected.status, rejected.json["email"]) == (200, "pen@example.org")
    assert (await mod.get(f"{V1}/{pen.id}")).status == 404
    assert (await pen.get(OWN)).status == 401
    assert await stage.rows("SELECT count(*) FROM accounts WHERE username = 'pen'") == [[0]]
    assert await logged(stage) == [["moderator", "reject", "pen"]]


async def test_only_a_suspended_account_is_deleted(stage: Stage) -> None:
    admin, ada, bob = await staff(stage, "admin"), await stage.person("ada"), await stage.person("bob")
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    status = await ada.publish("hello")
    refused = await admin.delete(f"{V1}/{ada.id}")
    assert (refused.status, refused.json) == NOT_ALLOWED
    assert (await ada.get(OWN)).status == 200
    await admin.post(f"{V1}/{ada.id}/action", {"type": "suspend"})
    deleted = await admin.delete(f"{V1}/{ada.id}")
    assert (deleted.status, deleted.json["email"]) == (200, "ada@example.org")
    assert (await ada.get(OWN)).status == 401
    assert (await bob.get(f"/api/v1/accounts/{ada.id}")).status == 410
    assert (await bob.get(f"/api/v1/statuses/{status['id']}")).status == 404
    assert (await admin.get(f"{V1}/{ada.id}")).status == 404
    await stage.until_gone("SELECT FROM outbox WHERE kind = 'erase'")
    assert await stage.rows("SELECT count(*) FROM follows") == [[0]]
    assert await logged(stage) == [["admin", "suspend", "ada"], ["admin", "delete", "ada"]], "entries stay"


async def test_a_suspended_account_of_another_server_is_deleted_with_its_posts_and_follows(stage: Stage) -> None:
    admin, far, bob = await staff(stage, "admin"), await stage.person("far"), await stage.person("bob")
    await bob.post(f"/api/v1/accounts/{far.id}/follow")
    await far.post(f"/api/v1/accounts/{bob.id}/follow")
    await far.publish("hello")
    await stage.sql("DELETE FROM users WHERE account_id = $1", far.account.id)
    await stage.sql("UPDATE accounts SET domain = 'far.test' WHERE id = $1", far.account.id)
    await admin.post(f"{V1}/{far.id}/action", {"type": "suspend"})
    assert (await admin.delete(f"{V1}/{far.id}")).status == 200
    await stage.until_gone("SELECT FROM outbox WHERE kind = 'erase'")
    assert await stage.rows("SELECT count(*) FROM follows") == [[0]]
    assert await stage.rows("SELECT count(*) FROM statuses WHERE deleted_at IS NULL") == [[0]]
    assert (await bob.get(OWN)).json["followers_count"] == 0
    assert stage.failures == []


ACTS: dict[str, tuple[str, str, dict[str, str]]] = {
    "warn": ("POST", "/action", {"type": "none"}),
    "disable": ("POST", "/action", {"type": "disable"}),
    "sensitive": ("POST", "/action", {"type": "sensitive"}),
    "silence": ("POST", "/action", {"type": "silence"}),
    "suspend": ("POST", "/action", {"type": "suspend"}),
    "enable": ("POST", "/enable", {}),
    "unsensitive": ("POST", "/unsensitive", {}),
    "unsilence": ("POST", "/unsilence", {}),
    "unsuspend": ("POST", "/unsuspend", {}),
    "approve": ("POST", "/approve", {}),
    "reject": ("POST", "/reject", {}),
    "delete": ("DELETE", "", {}),
}
# An account must be so that the act is not refused for another reason than the roles.
READY = {
    "unsuspend": "UPDATE accounts SET suspended_at = now() WHERE id = $1",
    "delete": "UPDATE accounts SET suspended_at = now() WHERE id = $1",
    "approve": "UPDATE users SET approved_at = NULL WHERE account_id = $1",
    "reject": "UPDATE users SET approved_at = NULL WHERE account_id = $1",
}


@pytest.mark.parametrize("act", ACTS)
async def test_staff_act_on_lower_roles_only(stage: Stage, act: str) -> None:
    method, path, form = ACTS[act]
    permission = Permission.DELETE_USER_DATA if act == "delete" else Permission.MANAGE_USERS
    actors = {role: await stage.person(f"by_{role}", STAFF, role=role) for role in ROLES}
    for role, actor in actors.items():
        for other in ROLES:
            target = await stage.person(f"{role}_{other}", role=other)
            if act in READY:
                await stage.sql(READY[act], target.account.id)
            before = await states(stage, target)
            answer = await actor.send(method, f"{V1}/{target.id}{path}", form=form)
            allowed = ROLES.index(role) > ROLES.index(other) and may(role, permission)
            assert answer.status == (200 if allowed else 403), f"{role} {act} {other}: {answer.text}"
            if not allowed:
                assert await states(stage, target) == before, f"{role} {act} {other}"


async def states(stage: Stage, target: Person) -> list[list[Any]]:
    return await stage.rows(
        "SELECT u::text, a::text FROM accounts a LEFT JOIN users u ON u.account_id = a.id WHERE a.id = $1",
        target.account.id,
    )


@pytest.mark.parametrize("role", ROLES)
async def test_nobody_acts_on_their_own_account(stage: Stage, role: str) -> None:
    me = await staff(stage, role)
    for type in ("none", "disable", "silence", "suspend"):
        assert (await me.post(f"{V1}/{me.id}/action", {"type": type})).status == 403
    assert (await me.get(OWN)).status == 200


async def test_the_last_owner_is_not_deleted_by_themselves(stage: Stage) -> None:
    first, second = await stage.person("first", role="owner"), await stage.person("second", role="owner")
    await stage.sql("UPDATE users SET disabled_at = now() WHERE account_id = $1", second.account.id)
    address = account_address(first.account.id)
    with pytest.raises(Refused, match="last owner"):
        await stage.http_context.runtime.ask(address, DeleteAccount(), origin=Origin("r1"))
    assert (await first.get(OWN)).status == 200
    await stage.sql("UPDATE users SET disabled_at = NULL WHERE account_id = $1", second.account.id)
    await stage.http_context.runtime.ask(address, DeleteAccount(), origin=Origin("r2"))
    assert (await first.get(OWN)).status == 401


async def test_of_two_owners_who_delete_themselves_at_once_one_stays(stage: Stage) -> None:
    owners = [await stage.person(name, role="owner") for name in ("first", "second")]

    async def delete(owner: Person) -> None:
        with suppress(Refused):
            await stage.http_context.runtime.ask(
                account_address(owner.account.id), DeleteAccount(), origin=Origin(owner.id)
            )

    async with trio.open_nursery() as together:
        for owner in owners:
            together.start_soon(delete, owner)
    assert await stage.rows("SELECT count(*) FROM users WHERE role = 'owner'") == [[1]]


async def test_a_suspended_owner_is_not_the_contact(stage: Stage) -> None:
    first, _ = await stage.person("first", role="owner"), await stage.person("second", role="owner")
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE id = $1", first.account.id)
    contact = (await stage.anybody().get("/api/v1/instance")).json["contact_account"]
    assert contact["username"] == "second"


async def logged(stage: Stage) -> list[list[Any]]:
    return await stage.rows("SELECT actor, action, target FROM audit_log ORDER BY id")
