"""Signing up through an app: what is refused, where the limits are, and that an account is made whole or not at all."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import trio

from troupe.actors.kernel import SystemClock
from troupe.actors.rules.passwords import matches
from troupe.storage.engine.database import Doubtful

from ..checklist.rows import rows
from ..clients import STAFF, Client, Person, Stage
from ..waiting import until_none
from .registering import ACCOUNTS, OPEN, app_client, codes, form, link_in, registered

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
ROWS = """
    SELECT (SELECT count(*) FROM accounts), (SELECT count(*) FROM users), (SELECT count(*) FROM account_counts),
        (SELECT count(*) FROM access_tokens WHERE account_id IS NOT NULL), (SELECT count(*) FROM outbox)
"""


@pytest.fixture
def options() -> dict[str, Any]:
    return OPEN


async def test_everything_that_is_wrong_is_told_at_once(app: Client) -> None:
    wrong = {"username": "a b" * 11, "email": "nobody", "password": "short", "agreement": "", "locale": "xx"}
    answer = await app.post(ACCOUNTS, wrong)
    assert answer.status == 422
    assert answer.json == {
        "error": "Validation failed: Username must contain only letters, numbers and underscores, Username is too long "
        "(maximum is 30 characters), E-mail address is invalid, Password is too short (minimum is 8 characters), "
        "Agreement must be accepted, Locale is not included in the list",
        "details": {
            "username": [
                {"error": "ERR_INVALID", "description": "must contain only letters, numbers and underscores"},
                {"error": "ERR_TOO_LONG", "description": "is too long (maximum is 30 characters)"},
            ],
            "email": [{"error": "ERR_INVALID", "description": "is invalid"}],
            "password": [{"error": "ERR_TOO_SHORT", "description": "is too short (minimum is 8 characters)"}],
            "agreement": [{"error": "ERR_ACCEPTED", "description": "must be accepted"}],
            "locale": [{"error": "ERR_INCLUSION", "description": "is not included in the list"}],
        },
    }


async def test_an_empty_form_lacks_everything(app: Client) -> None:
    assert codes(await app.post(ACCOUNTS, {})) == {
        "username": ["ERR_BLANK"],
        "email": ["ERR_BLANK"],
        "password": ["ERR_BLANK"],
        "agreement": ["ERR_ACCEPTED"],
    }


async def test_the_token_of_a_user_makes_an_account_too(stage: Stage, ada: Person) -> None:
    lacking = codes(await ada.post(ACCOUNTS, {}))
    assert lacking == {
        "username": ["ERR_BLANK"], "email": ["ERR_BLANK"], "password": ["ERR_BLANK"], "agreement": ["ERR_ACCEPTED"],
    }  # fmt: skip
    eve = await registered(stage, app=ada)
    (letter,) = await stage.letterbox.receive()
    assert (await eve.get(link_in(letter))).status == 302
    assert (await eve.get("/api/v1/accounts/verify_credentials")).json["username"] == "eve"
    await stage.sql("UPDATE users SET disabled_at = now() WHERE account_id = $1", ada.account.id)
    stage.http_context.tokens.forget_account(ada.account.id)
    refused = await ada.post(ACCOUNTS, form("dora", email="dora@example.org"))
    assert (refused.status, refused.json) == (403, {"error": "Your login is currently disabled"})


async def test_names_and_addresses_are_taken_in_any_case(stage: Stage, app: Client) -> None:
    await registered(stage)
    answer = await app.post(ACCOUNTS, form("EVE", email="Eve@Example.ORG", password="short"))
    assert codes(answer) == {"password": ["ERR_TOO_SHORT"], "username": ["ERR_TAKEN"], "email": ["ERR_TAKEN"]}
    assert "Username has already been taken, E-mail address has already been taken" in answer.json["error"]


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"username": "a"}, None),
        ({"username": "a" * 30}, None),
        ({"username": "a" * 31}, {"username": ["ERR_TOO_LONG"]}),
        ({"username": "näme"}, {"username": ["ERR_INVALID"]}),
        ({"username": "na.me"}, {"username": ["ERR_INVALID"]}),
        ({"username": "eve\n"}, {"username": ["ERR_INVALID"]}),
        ({"username": "@eve"}, {"username": ["ERR_INVALID"]}),
        ({"username": "Adm1n"}, {"username": ["ERR_RESERVED"]}),
        ({"username": "support"}, {"username": ["ERR_RESERVED"]}),
        ({"username": "the_troupe_team"}, {"username": ["ERR_RESERVED"]}),
        ({"password": "x" * 7}, {"password": ["ERR_TOO_SHORT"]}),
        ({"password": "x" * 8}, None),
        ({"password": "ü" * 72}, None),
        ({"password": "x" * 73}, {"password": ["ERR_TOO_LONG"]}),
        ({"password": " " * 10}, {"password": ["ERR_BLANK"]}),
        ({"email": f"{'a' * 64}@{'b' * 63}.{'c' * 63}.example"}, None),
        ({"email": f"{'a' * 65}@example.org"}, {"email": ["ERR_INVALID"]}),
        ({"email": f"a@{'b' * 320}.example"}, {"email": ["ERR_TOO_LONG"]}),
        ({"email": "eve@local_host"}, {"email": ["ERR_INVALID"]}),
        ({"email": "eve@exam ple.org"}, {"email": ["ERR_INVALID"]}),
        ({"email": "eve@example.org\nBcc: all@example.org"}, {"email": ["ERR_INVALID"]}),
        ({"email": "eve@example.org, bob@example.org"}, {"email": ["ERR_INVALID"]}),
        ({"email": '"eve smith"@example.org'}, {"email": ["ERR_INVALID"]}),
        ({"email": "Eve <eve@example.org>"}, {"email": ["ERR_INVALID"]}),
        ({"email": "a..b@example.org"}, {"email": ["ERR_INVALID"]}),
        ({"email": "@example.org"}, {"email": ["ERR_INVALID"]}),
        ({"email": "eve@example.org:25"}, {"email": ["ERR_INVALID"]}),
        ({"reason": "x" * 420}, None),
        ({"reason": "x" * 421}, {"reason": ["ERR_TOO_LONG"]}),
    ],
)
async def test_limits(stage: Stage, app: Client, given: dict[str, str], wrong: dict[str, list[str]] | None) -> None:
    answer = await app.send("POST", ACCOUNTS, json=form("eve", **{"email": "eve@example.org"} | given))
    assert (answer.status, None if answer.status == 200 else codes(answer)) == ((422, wrong) if wrong else (200, None))


async def test_the_space_that_a_keyboard_puts_behind_a_name_is_no_part_of_it(stage: Stage, app: Client) -> None:
    assert (await app.post(ACCOUNTS, form("eve ", email="eve@example.org "))).status == 200
    assert await stage.rows("SELECT a.username, u.email FROM users u JOIN accounts a ON a.id = u.account_id") == [
        ["eve", "eve@example.org"]
    ]


async def test_what_is_stored(stage: Stage, app: Client) -> None:
    await app.post(ACCOUNTS, form("Eve", email=" eve+troupe@Bücher.example ", reason="no matter"))
    account, user = (
        await stage.rows("SELECT username, uri, url, locked FROM accounts"),
        await stage.rows("SELECT email, password_hash, role, created_by_application_id IS NOT NULL FROM users"),
    )
    assert account == [["Eve", "http://localhost:3000/users/Eve", "http://localhost:3000/@Eve", False]]
    assert [user[0][0], *user[0][2:]] == ["eve+troupe@xn--bcher-kva.example", "user", True]
    assert matches(user[0][1], "long enough")


async def staff_end(stage: Stage, admin: Person, id: str, how: str) -> None:
    if how == "reject":
        await stage.rows("UPDATE users SET approved_at = NULL WHERE account_id = $1 RETURNING 1", int(id))
        assert (await admin.post(f"/api/v1/admin/accounts/{id}/reject")).status == 200
    else:
        assert (await admin.post(f"/api/v1/admin/accounts/{id}/action", {"type": "suspend"})).status == 200
        assert (await admin.delete(f"/api/v1/admin/accounts/{id}")).status == 200


@pytest.mark.parametrize("how", ["reject", "delete"])
async def test_a_sign_up_that_was_never_confirmed_leaves_its_name_and_address_free(
    stage: Stage, app: Client, how: str
) -> None:
    admin = await stage.person("admin", STAFF, role="admin")
    await registered(stage, app=app)
    ((id,),) = await stage.rows("SELECT id::text FROM accounts WHERE username = 'eve'")
    await staff_end(stage, admin, id, how)
    assert await stage.rows("SELECT count(*) FROM accounts WHERE id = $1", int(id)) == [[0]]
    assert (await app.post(ACCOUNTS, form("Eve", email="EVE@example.org"))).status == 200
    assert (await admin.get(f"/api/v1/admin/accounts/{id}")).status == 404


async def test_the_name_of_an_account_that_was_active_stays_taken(stage: Stage, app: Client) -> None:
    admin, eve = await stage.person("admin", STAFF, role="admin"), await stage.person("eve")
    await staff_end(stage, admin, eve.id, "delete")
    assert codes(await app.post(ACCOUNTS, form("eve"))) == {"username": ["ERR_TAKEN"]}
    assert (await app.post(ACCOUNTS, form("eva", email="eve@example.org"))).status == 200


class TestReserved:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return OPEN | {"reserved_usernames": "Postmaster, hostmaster"}

    async def test_names_are_the_operators_choice(self, app: Client) -> None:
        assert codes(await app.post(ACCOUNTS, form("p0stmaster"))) == {"username": ["ERR_RESERVED"]}
        assert (await app.post(ACCOUNTS, form("webmaster"))).status == 200


@pytest.mark.parametrize(
    ("settings", "required"),
    [
        ({"registrations": "approval"}, False),
        ({"registrations": "approval", "require_reason": False}, False),
        ({"registrations": "approval", "require_reason": True}, True),
        ({"registrations": "open", "require_reason": True}, False),
    ],
)
class TestReasons:
    @pytest.fixture
    def options(self, settings: dict[str, Any]) -> dict[str, Any]:
        return OPEN | settings

    async def test_a_reason_is_asked_for_where_the_instance_says_so(
        self, app: Client, stage: Stage, required: bool
    ) -> None:
        told = (await stage.anybody().get("/api/v2/instance")).json["registrations"]
        assert told["reason_required"] is required
        for reason in (" ", ""):
            answer = await app.post(ACCOUNTS, form(f"eve{len(reason)}", reason=reason))
            assert answer.status == (422 if required else 200)
            if required:
                assert codes(answer) == {"reason": ["ERR_BLANK"]}


class TestLimited:
    """Five in half an hour from one address."""

    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return OPEN | {"rate_limits": True}

    @rows("S118", "S253")
    async def test_the_sixth_is_refused_until_half_an_hour_is_over(
        self, stage: Stage, app: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = NOON

        def standing(_: SystemClock) -> datetime:
            return now

        monkeypatch.setattr(SystemClock, "now", standing)

        async def attempt(number: int, address: str) -> int:
            answer = await app.post(ACCOUNTS, form(f"eve{number}"), headers={"X-Forwarded-For": address})
            if answer.status == 429:
                assert answer.json == {"error": "Too many requests"}
                assert answer.headers["X-RateLimit-Limit"] == "5"
                assert answer.headers["X-RateLimit-Reset"] == "2026-11-21T12:30:00.000000Z"
            return answer.status

        near, far = "2001:db8:1:2::7", "2001:db8:1:3::7"
        assert [await attempt(number, near) for number in range(5)] == [200] * 5
        assert await attempt(6, "2001:db8:1:2:3::9") == 429, "a customer's network is one address"
        assert await attempt(7, far) == 200
        now = NOON + timedelta(minutes=29, seconds=59)
        assert await attempt(8, near) == 429
        now = NOON + timedelta(minutes=30)
        assert await attempt(9, near) == 200


class TestLimitedNetwork:
    """Twenty in an hour from one network, beside five from one address."""

    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return OPEN | {"rate_limits": True}

    @pytest.mark.parametrize(
        ("near", "far"),
        [("192.0.2.{}", "192.0.3.1"), ("2001:db8:1:{}::7", "2001:db8:2:1::7")],
    )
    async def test_many_addresses_of_a_network_share_a_limit(
        self, app: Client, monkeypatch: pytest.MonkeyPatch, near: str, far: str
    ) -> None:
        now = NOON

        def standing(_: SystemClock) -> datetime:
            return now

        monkeypatch.setattr(SystemClock, "now", standing)

        async def attempt(number: int, address: str) -> int:
            answer = await app.post(ACCOUNTS, form(f"eve{number}"), headers={"X-Forwarded-For": address})
            return answer.status

        assert [await attempt(number, near.format(number + 1)) for number in range(20)] == [200] * 20
        assert await attempt(20, near.format(99)) == 429
        assert await attempt(21, far) == 200
        now = NOON + timedelta(hours=1)
        assert await attempt(22, near.format(99)) == 200


async def test_of_two_who_want_one_name_at_the_same_time_one_gets_it(stage: Stage, app: Client) -> None:
    """Both have found it free; the rows decide."""
    answers: list[Any] = []

    async def attempt(**more: str) -> None:
        answers.append(await app.post(ACCOUNTS, form(**more)))

    async with trio.open_nursery() as nursery:
        for number in range(4):
            nursery.start_soon(lambda n=number: attempt(name="eve", email=f"eve{n}@example.org"))
            nursery.start_soon(lambda n=number: attempt(name=f"bob{n}", email="bob@example.org"))
    lost = [codes(answer) for answer in answers if answer.status != 200]
    assert len(lost) == 6
    assert lost.count({"username": ["ERR_TAKEN"]}) == lost.count({"email": ["ERR_TAKEN"]}) == 3
    await stage.letterbox.receive(2)

    async def waiting() -> object:
        return (await stage.rows(ROWS))[0][-1]

    await until_none(waiting)
    assert await stage.rows(ROWS) == [[2, 2, 2, 2, 0]]
    assert stage.failures == []


@pytest.mark.parametrize("done", [True, False])
async def test_a_lost_commit_is_told_and_asking_again_finds_either(
    stage: Stage, app: Client, monkeypatch: pytest.MonkeyPatch, done: bool
) -> None:
    transact = stage.http_context.database.transact_in

    async def lost(shard: int, work: Any, /, *args: Any) -> Any:
        if work.__name__ != "_sign_up":
            return await transact(shard, work, *args)
        if done:
            await transact(shard, work, *args)
        raise Doubtful("the connection was lost in COMMIT")

    monkeypatch.setattr(stage.http_context.database, "transact_in", lost)
    answer = await app.post(ACCOUNTS, form())
    assert (answer.status, "Retry-After" in answer.headers) == (503, True)
    monkeypatch.undo()
    again = await app.post(ACCOUNTS, form())
    if done:
        assert codes(again) == {"username": ["ERR_TAKEN"], "email": ["ERR_TAKEN"]}
    else:
        assert again.status == 200
    assert len(await stage.rows("SELECT FROM users")) == 1


async def test_a_server_on_loopback_takes_an_address_on_this_machine(stage: Stage, app: Client) -> None:
    answer = await app.post(ACCOUNTS, form(email="eve@localhost"))
    assert answer.status == 200, answer.text
    (letter,) = await stage.letterbox.receive()
    assert letter.to == "eve@localhost"


class TestInPublic:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return OPEN | {"domain": "social.example"}

    async def test_a_server_with_a_public_name_takes_none(self, stage: Stage) -> None:
        answer = await (await app_client(stage)).post(ACCOUNTS, form(email="eve@localhost"))
        assert codes(answer) == {"email": ["ERR_INVALID"]}
