"""Accounts on the pages for staff: found, shown, and acted on by the commands of the API."""

import re
from html import unescape

from ...clients import PASSWORD, Stage
from ..settling import Phone, turned_on
from .members import log, member


def found(text: str) -> list[str]:
    return re.findall(r"<bdi>@([\w.]+)</bdi></a> <bdi", text)


async def test_accounts_are_found_by_the_filters_of_the_api(stage: Stage) -> None:
    mod = await member(stage, "moderator", "mod")
    await stage.account("ada")
    await stage.account("adele")
    await stage.sql("UPDATE users SET disabled_at = now() WHERE email = 'adele@example.org'")
    assert found((await mod.get("/admin/accounts")).text) == ["adele", "ada", "mod"]
    assert found((await mod.get("/admin/accounts?username=AD&status=active")).text) == ["ada"]
    assert found((await mod.get("/admin/accounts?email=adele@")).text) == ["adele"]
    assert found((await mod.get("/admin/accounts?role_ids=1")).text) == ["mod"]
    assert found((await mod.get("/admin/accounts?origin=remote")).text) == []
    first = await mod.get("/admin/accounts?limit=2")
    older = unescape(re.findall(r'rel="next" href="([^"]*)"', first.text)[0])
    assert found((await mod.get(older)).text) == ["mod"]


async def test_hostile_texts_of_a_search_are_shown_as_texts(stage: Stage) -> None:
    mod = await member(stage, "moderator")
    page = await mod.get("/admin/accounts?username=%22%3E%3Cscript%3Ealert(1)%3C/script%3E")
    assert page.status == 200
    assert "<script>alert" not in page.text


async def test_states_begin_and_end(stage: Stage) -> None:
    mod, bob = await member(stage, "moderator", "mod"), await stage.person("bob")
    path = f"/admin/accounts/{bob.id}"
    for act, state, badge in (("disable", "disable", "disabled"), ("silence", "silence", "limited")):
        await mod.send(f"{path}/act", path, type=act, text="Why")
        assert f'<span class="badge warn">{badge}</span>' in (await mod.get(path)).text
        answer = await mod.send(f"{path}/undo", path, state=state)
        assert answer.headers["Location"] == f"{path}?done=undone"
        assert f'<span class="badge warn">{badge}</span>' not in (await mod.get(path)).text
    assert [act for _, act, _ in await log(stage)] == ["disable", "enable", "silence", "unsilence"]


async def test_a_suspension_needs_the_password(stage: Stage) -> None:
    mod, bob = await member(stage, "moderator"), await stage.person("bob")
    path = f"/admin/accounts/{bob.id}"
    assert (await mod.send(f"{path}/act", path, type="suspend")).status == 200
    assert await log(stage) == []
    answer = await mod.send(f"{path}/act", path, type="suspend", password=PASSWORD)
    assert answer.headers["Location"] == f"{path}?done=acted"
    assert [act for _, act, _ in await log(stage)] == ["suspend"]


async def test_with_two_factor_authentication_a_code_is_needed_too(stage: Stage) -> None:
    owner, bob = await member(stage, "owner"), await stage.person("bob")
    phone: Phone
    phone, _ = await turned_on(stage, owner)
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE id = $1", bob.account.id)
    stage.http_context.accounts.clear()
    path = f"/admin/accounts/{bob.id}"
    asked = await owner.send(f"{path}/delete", path)
    assert 'name="code"' in asked.text
    without = await owner.send(f"{path}/delete", path, password=PASSWORD)
    assert (without.status, await log(stage)) == (422, [])
    code = await phone.code()
    answer = await owner.send(f"{path}/delete", path, password=PASSWORD, code=code)
    assert answer.headers["Location"] == "/admin/accounts?done=deleted"
    assert [act for _, act, _ in await log(stage)] == ["delete"]


async def test_sign_ups_are_approved_and_rejected(stage: Stage) -> None:
    mod = await member(stage, "moderator")
    for name in ("one", "two"):
        await stage.account(name, approved_at=None, invite_request="<i>Let me in</i>")
    lines = await stage.rows("SELECT account_id FROM users WHERE approved_at IS NULL ORDER BY account_id")
    one, two = (f"/admin/accounts/{id}" for (id,) in lines)
    assert "&lt;i&gt;Let me in&lt;/i&gt;" in (await mod.get(one)).text
    assert (await mod.send(f"{one}/approve", one)).headers["Location"] == f"{one}?done=approved"
    assert (await mod.send(f"{two}/reject", two)).status == 200
    answer = await mod.send(f"{two}/reject", two, password=PASSWORD)
    assert answer.headers["Location"] == "/admin/accounts?done=rejected"
    assert [(act, name) for _, act, name in await log(stage)] == [("approve", "one"), ("reject", "two")]


async def test_a_moderator_is_offered_nothing_that_is_refused(stage: Stage) -> None:
    mod, owner = await member(stage, "moderator"), await stage.person("boss", role="owner")
    text = (await mod.get(f"/admin/accounts/{owner.id}")).text
    assert '/act"' not in text
    assert 'name="role"' not in text
    answer = await mod.send(f"/admin/accounts/{owner.id}/act", "/settings", type="silence")
    assert answer.status == 422
    assert "This action is not allowed" in answer.text


async def test_a_role_is_given_with_the_password(stage: Stage) -> None:
    owner, bob = await member(stage, "owner"), await stage.person("bob")
    path = f"/admin/accounts/{bob.id}"
    asked = await owner.send(f"{path}/role", path, role="moderator")
    assert 'name="role" value="moderator"' in asked.text
    await owner.send(f"{path}/role", path, role="moderator", password=PASSWORD)
    assert await stage.rows("SELECT role FROM users WHERE account_id = $1", bob.account.id) == [["moderator"]]
    assert [act for _, act, _ in await log(stage)] == ["change_role"]


async def test_wrong_passwords_count_as_failed_sign_ins(stage: Stage) -> None:
    """A stolen session does not let a thief try passwords without end."""
    mod, bob = await member(stage, "moderator"), await stage.person("bob")
    path = f"/admin/accounts/{bob.id}"
    stage.http_context.use_settings({"rate_limits": True})
    statuses = [(await mod.send(f"{path}/act", path, type="suspend", password="wrong")).status for _ in range(27)]
    assert statuses[0] == 422
    assert statuses[-1] == 429
