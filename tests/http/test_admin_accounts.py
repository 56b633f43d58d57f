"""Accounts as staff read and judge them."""

from typing import Any

import pytest

from ..clients import SCOPES, Person, Reply, Stage, link

V1, V2 = "/api/v1/admin/accounts", "/api/v2/admin/accounts"
STAFF = (*SCOPES, "admin:read", "admin:write")


async def staff(stage: Stage, role: str = "moderator", scopes: tuple[str, ...] = STAFF) -> Person:
    return await stage.person(role, scopes, role=role)


def names(answer: Reply) -> list[str]:
    assert answer.status == 200, answer.text
    return [account["username"] for account in answer.json]


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
        ("display_name=ad", ["ada"]),
        ("email=ADA@", ["ada"]),
        ("email=%25", []),
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
