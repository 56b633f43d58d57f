"""Signing up with an invite."""

from datetime import timedelta
from typing import Any

import pytest
import trio

from troupe.storage import invites
from troupe.storage.invites import Invite

from ..clients import Client, Stage
from .registering import ACCOUNTS, OPEN, form
from .staff.members import member


@pytest.fixture
def options() -> dict[str, Any]:
    return OPEN | {"registrations": "closed"}


async def invite(stage: Stage, code: str = "welcome-7", uses: int | None = None, days: int | None = None) -> str:
    now = stage.http_context.clock.now()
    ends = None if days is None else now + timedelta(days=days)
    made = Invite(stage.http_context.ids.next(), code, None, "", uses, 0, now, ends)
    await stage.http_context.database.transact(invites.insert, made)
    return code


async def test_an_invite_opens_a_closed_server_as_often_as_it_says(stage: Stage, app: Client) -> None:
    code = await invite(stage, uses=2)
    assert (await app.post(ACCOUNTS, form("eve"))).status == 403
    assert (await app.post(ACCOUNTS, form("eve", invite_code="wrong-code"))).status == 403
    assert (await app.post(ACCOUNTS, form("eve", invite_code=code, password="short"))).status == 422, "no use"
    for name in ("eve", "bob"):
        assert (await app.post(ACCOUNTS, form(name, invite_code=code))).status == 200
    assert (await app.post(ACCOUNTS, form("late", invite_code=code))).status == 403
    users = await stage.rows("SELECT invite_id IS NOT NULL, approved_at IS NOT NULL FROM users")
    assert users == [[True, True]] * 2
    assert await stage.rows("SELECT uses FROM invites") == [[2]]


@pytest.mark.parametrize("code", ["", "x" * 65, "x" * 100_000, "welcome-7\x00"])
async def test_what_is_no_code_opens_nothing(stage: Stage, app: Client, code: str) -> None:
    await invite(stage)
    assert (await app.send("POST", ACCOUNTS, json=form("eve", invite_code=code))).status in (400, 403)
    assert await stage.rows("SELECT FROM users") == []


async def test_an_invite_that_has_ended_opens_nothing(stage: Stage, app: Client) -> None:
    code = await invite(stage, days=-1)
    assert (await app.post(ACCOUNTS, form("eve", invite_code=code))).status == 403


async def test_the_last_use_is_of_one_of_two(stage: Stage, app: Client) -> None:
    code, statuses = await invite(stage, uses=1), list[int]()

    async def attempt(name: str) -> None:
        statuses.append((await app.post(ACCOUNTS, form(name, invite_code=code))).status)

    async with trio.open_nursery() as nursery:
        for name in ("eve", "bob", "kim"):
            nursery.start_soon(attempt, name)
    assert sorted(statuses) == [200, 403, 403]
    assert len(await stage.rows("SELECT FROM users")) == 1


async def test_the_page_takes_an_invite(stage: Stage) -> None:
    code = await invite(stage)
    assert "Sign-ups are closed" in (await stage.anybody().get("/auth/sign_up")).text
    assert "Sign-ups are closed" in (await stage.anybody().get("/auth/sign_up?invite=wrong-code")).text
    shown = (await stage.anybody().get(f"/auth/sign_up?invite={code}")).text
    assert f'name="invite" value="{code}"' in shown


class TestApproval:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return OPEN | {"registrations": "approval", "require_reason": True}

    async def test_people_with_an_invite_need_no_approval_and_no_reason(self, stage: Stage, app: Client) -> None:
        code = await invite(stage)
        assert (await app.post(ACCOUNTS, form("eve", invite_code=code))).status == 200
        assert (await app.post(ACCOUNTS, form("bob", reason="please"))).status == 200
        users = await stage.rows("SELECT email, approved_at IS NOT NULL FROM users ORDER BY email")
        assert users == [["bob@example.org", False], ["eve@example.org", True]]


class TestWithoutMail:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"rate_limits": False, "registrations": "open"}

    async def test_nobody_signs_up_where_no_address_can_be_confirmed(self, stage: Stage, app: Client) -> None:
        assert (await app.post(ACCOUNTS, form("eve", invite_code=await invite(stage)))).status == 403


async def test_a_code_is_no_option_of_a_command(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = await member(stage, "owner")
    monkeypatch.setattr(stage.http_context, "secret", lambda: "-o73O1LFGDS-HU87Esk_GM-and-more")
    assert (await owner.send("/admin/invites", uses="1")).status == 302
    assert [made.code for made in await stage.http_context.database.read(invites.find_all)] == ["_o73O1LFGDS_HU87"]
